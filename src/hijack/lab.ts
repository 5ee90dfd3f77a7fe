import type { OutgoingHttpHeaders } from "node:http";
import { HttpEndpoint } from "../conformance/http-endpoint.ts";
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
    const text = answer.body.toString("utf8");
    const json = parsed(text);
    const { result, error } = json;
    return {
      status: answer.status,
      text,
      body: json,
      result: isObject(result) ? result : undefined,
      error: isObject(error) ? error : undefined,
    };
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
      const answer = await ask();
      if (answer.result === undefined) return refusal(answer);
      const after = await own();
      if (print(before) !== print(after)) continue;
      return print(answer) === print(before)
        ? held("what the tenant gets without it")
        : hijacked("other passages than its own");
    }
    return noAnswer("the tenant's own passages change from call to call");
  }

  own(): Promise<Answer> {
    return this.call("retrieve", this.question());
  }
}

/** An answer without a result is a refusal when it says so; what is no answer of such a server is none. */
export function refusal({ status, error }: Answer): Outcome {
  if (error !== undefined) return held(`refused: ${error.code ?? error.message ?? status}`);
  return status >= 400 && status < 500 ? held(`refused: HTTP ${status}`) : noAnswer(`HTTP ${status}`);
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
