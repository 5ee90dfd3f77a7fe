import type { TenantId } from "../catalog/corpus.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import { postJson } from "./post-json.ts";
import { ProviderFailure } from "./provider-failure.ts";
import { withRetries } from "./retry.ts";
import { type Lane, WorkQueue } from "./work-queue.ts";

/** What every model server has in the configuration. */
export interface ModelServerConfig {
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly retries: number;
}

/** What a kind of model server is called, and where it answers. */
export interface ModelServerKind {
  /** Appended to the base URL's path. */
  readonly path: string;
  /** In errors: `the embedding server`. */
  readonly name: string;
}

export interface ModelRequest<Answer> {
  readonly body: unknown;
  /** A longer answer is refused. */
  readonly maxResponseBytes: number;
  /** @throws ProviderFailure for an answer that is of no use */
  parse(answer: unknown): Answer;
}

interface Unit<Answer> {
  readonly request: ModelRequest<Answer>;
  readonly signal: AbortSignal;
}

/** Calls that may wait in each lane. */
const MAX_WAITING_CALLS = 512;

/**
 * A model server over HTTP: a bounded number of requests at a time, each with its timeout and tried again after a temporary
 * failure. No error names the address, the key or a text.
 */
export class ModelServer<Answer> {
  readonly #config: ModelServerConfig;
  readonly #kind: ModelServerKind;
  readonly #url: string;
  readonly #closing = new AbortController();
  readonly #queue: WorkQueue<Unit<Answer>, Answer>;

  constructor(config: ModelServerConfig, kind: ModelServerKind) {
    this.#config = config;
    this.#kind = kind;
    this.#url = endpoint(config.url, kind.path);
    this.#queue = new WorkQueue({
      name: kind.name,
      run: (unit: Unit<Answer>) => this.#ask(unit),
      concurrency: config.concurrency,
      maxWaitingCalls: MAX_WAITING_CALLS,
    });
  }

  get isOpen(): boolean {
    return !this.#closing.signal.aborted;
  }

  /**
   * The answers to a call's requests, in their order. When one of them fails or the caller goes away, the others are of no use
   * any more and end too.
   *
   * @throws RpcError -32010; the signal's reason when it aborts
   */
  async ask(
    lane: Lane,
    requests: readonly ModelRequest<Answer>[],
    signal: AbortSignal,
    party: TenantId | undefined,
  ): Promise<readonly Answer[]> {
    const call = new AbortController();
    const ends = AbortSignal.any([call.signal, this.#closing.signal]);
    try {
      return await this.#queue.submit(
        lane,
        requests.map((request) => ({ request, signal: ends })),
        signal,
        party,
      );
    } finally {
      call.abort();
    }
  }

  /** Ends the requests that run and refuses those to come. */
  close(): void {
    const closed = backendUnavailable({ retryable: false, detail: `${this.#kind.name} is closed` });
    this.#queue.close(closed);
    this.#closing.abort(closed);
  }

  async #ask({ request, signal }: Unit<Answer>): Promise<Answer> {
    const { apiKey, timeoutMs, retries } = this.#config;
    const { body, maxResponseBytes } = request;
    const post = { url: this.#url, apiKey, body, timeoutMs, maxResponseBytes, signal };
    try {
      return await withRetries(async () => request.parse(await postJson(post)), { retries, signal });
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      const { temporary: retryable, retryAfterMs } = error;
      throw backendUnavailable(
        {
          retryable,
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          detail: `${this.#kind.name} gave no usable answer`,
        },
        { cause: error },
      );
    }
  }
}

/** The base URL with `/<path>` after its own; a query, such as an API version, stays where it is. */
function endpoint(base: string, path: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url.href;
}
