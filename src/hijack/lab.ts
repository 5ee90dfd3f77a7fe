import type { OutgoingHttpHeaders } from "node:http";
import { HttpEndpoint } from "../conformance/http-endpoint.ts";
import { ensure } from "../conformance/outcome.ts";
import { ErrorCode } from "../protocol/errors.ts";
import { isObject, type Params } from "../protocol/params.ts";
import { held, hijacked, noAnswer, type Outcome } from "./trick.ts";

/** Who asks whom, and for whose data. */
export interface LabOptions {
  /** The server's base URL for RCP, ending in `/rcp`. */
  readonly url: string;
  /** Of the tenant that the tests run as. */
  readonly token: string;
  /** Whose the token is; undefined = as its claim `tenant` says. */
  readonly tenant?: string | undefined;
  readonly otherTenant?: string | undefined;
  /** A read token of the other tenant: what belongs to it is then taken with it, and tried with the first. */
  readonly otherToken?: string | undefined;
  /** A question that finds something of both tenants. */
  readonly query: string;
  readonly timeoutMs: number;
}

/** An answer over HTTP; of JSON-RPC it has one of the last two. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Params;
  readonly result?: Params | undefined;
  readonly error?: Params | undefined;
}

export interface Sending {
  readonly token?: string | undefined;
  /** A list is sent as several headers of the name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** In the place of the body that would be sent. */
  readonly body?: string;
}

export const SAME = "what the tenant gets without it";

/** A passage by what tells it from another. */
const printOf = (hit: unknown): string => {
  const { id, text, citation, meta } = isObject(hit) ? hit : {};
  return JSON.stringify([id, text, citation, meta]);
};

/** What is tried, and what the tenant gets without any trick. */
export class Lab {
  readonly options: LabOptions;
  readonly #endpoint: HttpEndpoint;
  #id = 0;

  constructor(options: LabOptions) {
    this.options = options;
    const base = new URL(options.url);
    base.pathname = base.pathname.replace(/\/rcp\/*$/, "");
    this.#endpoint = new HttpEndpoint(base, options.timeoutMs, undefined);
  }

  close(): void {
    this.#endpoint.close();
  }

  /** @param path after what `/rcp` stands behind */
  async send(path: string, sending: Sending & { readonly method?: string } = {}): Promise<Answer> {
    const { token = this.options.token, headers = {}, method = "POST", body } = sending;
    const answer = await this.#endpoint.send({
      method,
      path,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        ...headers,
      } as OutgoingHttpHeaders,
      ...(body !== undefined && { body }),
    });
    return answerOf(answer.status, answer.body.toString("utf8"));
  }

  /** One RCP call. */
  call(method: string, params: object, sending: Sending & { readonly path?: string } = {}): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#id, method, params });
    return this.send(sending.path ?? `/rcp/${method}`, { body, ...sending });
  }

  /** The question that all is compared by. */
  question(more: object = {}): object {
    return { query: this.options.query, k: 10, ...more };
  }

  /**
   * Judges an answer that must be what the tenant gets anyway, or a refusal. A corpus that changes meanwhile is asked once more.
   *
   * @param ask sends the trick
   * @param own sends the same without it
   */
  async sameAsOwn(
    ask: () => Promise<Answer>,
    own: () => Promise<Answer> = () => this.own(),
    print: (answer: Answer) => string = printsOf,
  ): Promise<Outcome> {
    for (let tries = 0; tries < 3; tries++) {
      const before = await own();
      if (before.result === undefined) return noAnswer("the tenant's own question is not answered");
      const answer = await ask();
      if (answer.result === undefined) return refusal(answer);
      const after = await own();
      if (print(before) !== print(after)) continue;
      return print(answer) === print(before) ? held(SAME) : hijacked("other passages than its own");
    }
    return noAnswer("the tenant's own passages change from call to call");
  }

  own(): Promise<Answer> {
    return this.call("retrieve", this.question());
  }

  /** Whether the tenant has a corpus of its own that is called so. */
  async hasCorpus(name: string): Promise<boolean> {
    const { engines } = (await this.call("catalog/list", {})).result ?? {};
    return Array.isArray(engines) && engines.some((engine) => isObject(engine) && engine.id === name);
  }

  /** The other tenant's answer to a question. @throws Violation when there is none, so that nothing can be tried with it */
  async theirs(more: object = {}): Promise<Params> {
    const { result, status } = await this.call("retrieve", this.question(more), { token: this.options.otherToken });
    ensure(result !== undefined, `the other tenant's own question is not answered: HTTP ${status}`);
    return result;
  }
}

export function answerOf(status: number, text: string): Answer {
  const body = parsed(text);
  const { result, error } = body;
  return {
    ...{ status, text, body },
    result: isObject(result) ? result : undefined,
    error: isObject(error) ? error : undefined,
  };
}

/** RCP §12: what refuses a call for what it asks, and not because nobody could answer it. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  ErrorCode.InvalidRequest,
  ErrorCode.InvalidParams,
  ErrorCode.NotInitialized,
  ErrorCode.CapabilityMissing,
  ErrorCode.UnknownMethod,
  ErrorCode.OptionUnsupported,
  ErrorCode.Unauthorized,
  ErrorCode.NotFound,
]);
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 422]);

/** An answer without a result is a refusal when it says so: a server that fails, is busy or is slow has held against nothing. */
export function refusal({ status, error }: Answer): Outcome {
  const data = isObject(error?.data) ? error.data : {};
  // A version that nobody keeps (RCP §12) will not be there later, either.
  const isGone = error?.code === ErrorCode.BackendUnavailable && data.retryable === false;
  if (REFUSALS.has(error?.code) || isGone) return held(`refused: ${error?.code}`);
  if (error !== undefined) return noAnswer(`failed: ${error.code ?? status}`);
  return REFUSING_STATUSES.has(status) ? held(`refused: HTTP ${status}`) : noAnswer(`HTTP ${status}`);
}

/** The worst of several answers that each must be a refusal. */
export function refusals(answers: readonly Answer[], otherwise: string): Outcome {
  const open = answers.find(({ result }) => result !== undefined);
  if (open !== undefined) return hijacked(otherwise);
  const outcomes = answers.map(refusal);
  return (
    outcomes.find(({ verdict }) => verdict !== "held") ??
    held([...new Set(outcomes.map(({ answer }) => answer))].join(", "))
  );
}

const printsOf = ({ result }: Answer): string => JSON.stringify([result?.indexVersion, hitsOf(result).map(printOf)]);

export const hitsOf = (result: Params | undefined): readonly Params[] => {
  const { hits } = result ?? {};
  return Array.isArray(hits) ? hits.filter(isObject) : [];
};

function parsed(text: string): Params {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** True where a door is said not to be. @throws Violation for what leaves open whether it is there */
export function isAbsent({ status }: Answer): boolean {
  ensure(status === 200 || status === 404 || status === 405, `HTTP ${status} where the door would be`);
  return status !== 200;
}
