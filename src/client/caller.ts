import { ErrorCode } from "../protocol/errors.ts";
import { type MethodName, PROTOCOL_VERSION } from "../protocol/methods.ts";
import { isObject } from "../protocol/params.ts";
import type { Progress } from "../protocol/wire.ts";
import { corpusEndpoint, isPrivateChannel, methodUrl } from "./endpoint.ts";
import { RcpCallError, RcpTransportError } from "./errors.ts";
import { exchange, type Json, sendCancel, timedOut } from "./exchange.ts";
import { checkAdvertised } from "./gate.ts";
import { readProgress, readServerInfo } from "./read-results.ts";
import { DEFAULT_RETRY, pause, type RetryPolicy, retryDelayMs } from "./retry.ts";
import type { ServerInfo } from "./types.ts";

/** The way of every call: gate, token, session, deadline, tries. What it means is for rcp-client.ts. */

/**
 * Gives the bearer token. Called before every call; with `refused` when the server has just refused what it gave (RCP §12.2:
 * refresh the credential, then retry once). Undefined sends no token.
 */
export type TokenSource = (refused: boolean) => string | undefined | Promise<string | undefined>;

export interface RetryNotice {
  readonly method: string;
  readonly delayMs: number;
  readonly error: RcpCallError | RcpTransportError;
}

export interface RcpClientOptions {
  /** The server's base URL, ending in `/rcp`. */
  readonly url: string;
  readonly corpus?: string;
  readonly token?: string | TokenSource;
  /** Sends the token over plain http to another machine. */
  readonly allowPlainHttp?: boolean;
  /** The client's own deadline for one try. */
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  readonly retry?: Partial<RetryPolicy>;
  readonly onRetry?: (notice: RetryNotice) => void;
  readonly clientInfo?: { readonly name: string; readonly version: string };
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For the whole call with all its tries and pauses. Each try tells the server what is left of it (`_meta.deadlineMs`). */
  readonly deadlineMs?: number;
  /** RCP codes that the caller deals with itself, so that they are not retried. */
  readonly noRetry?: readonly number[];
  readonly retry?: Partial<RetryPolicy>;
}

/** A call as the client makes it, before what each try adds. */
export interface OutgoingCall {
  readonly method: MethodName;
  readonly params: object;
  /** True when doing it twice is the same as doing it once. */
  readonly isIdempotent: boolean;
  /** Asks for progress, and takes it. A call that is tried again begins again. */
  readonly onProgress?: (progress: Progress) => void;
}

interface Credentials {
  readonly token: string | undefined;
  readonly session: string | undefined;
}

export class Caller {
  readonly #base: URL;
  readonly #options: RcpClientOptions;
  readonly #retry: RetryPolicy;
  #nextId = 1;
  #session: string | undefined;
  #serverInfo: ServerInfo | undefined;
  #opening: Promise<ServerInfo> | undefined;

  /** @throws TypeError when the URL is no RCP base URL, or a token would travel readable over a network */
  constructor(options: RcpClientOptions) {
    this.#base = corpusEndpoint(options.url, options.corpus);
    if (options.token !== undefined && !options.allowPlainHttp && !isPrivateChannel(this.#base)) {
      throw new TypeError("the URL must begin with https://: a token over plain http can be read on the way");
    }
    this.#options = options;
    this.#retry = { ...DEFAULT_RETRY, ...options.retry };
  }

  get serverInfo(): ServerInfo | undefined {
    return this.#serverInfo;
  }

  async initialize(options: CallOptions): Promise<ServerInfo> {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      client: this.#options.clientInfo ?? { name: "pgrcp-client", version: "1" },
      capabilities: {},
    };
    const result = readServerInfo(await this.call({ method: "initialize", params, isIdempotent: true }, options));
    const session = result._meta?.session;
    this.#session = typeof session === "string" ? session : undefined;
    this.#serverInfo = result;
    return result;
  }

  async info(options: CallOptions): Promise<ServerInfo> {
    this.#serverInfo = readServerInfo(await this.call({ method: "info", params: {}, isIdempotent: true }, options));
    return this.#serverInfo;
  }

  /** Ends the session, if one was opened. */
  async close(options: CallOptions): Promise<void> {
    if (this.#session === undefined) return;
    await this.call({ method: "shutdown", params: {}, isIdempotent: true }, options);
    this.#session = undefined;
  }

  /** @throws RcpCapabilityError before anything is sent, RcpCallError, RcpTransportError, or the reason of the caller's signal */
  async call(call: OutgoingCall, options: CallOptions): Promise<Json> {
    const { method, isIdempotent } = call;
    if (this.#serverInfo !== undefined) checkAdvertised(method, call.params, this.#serverInfo.capabilities);
    options.signal?.throwIfAborted();
    const endsAt = performance.now() + (options.deadlineMs ?? Number.POSITIVE_INFINITY);
    const policy = { ...this.#retry, ...options.retry };
    let token = await inTime(this.#token(false), endsAt, options);
    let retried = 0;
    let reopened = false;
    let refreshed = false;
    for (;;) {
      const session = method === "initialize" ? undefined : this.#session;
      try {
        return await this.#send(call, { token, session }, endsAt, options);
      } catch (error) {
        if (!(error instanceof RcpCallError || error instanceof RcpTransportError)) throw error;
        const code = error instanceof RcpCallError ? error.code : undefined;
        if (code === ErrorCode.NotInitialized && !reopened && method !== "initialize") {
          reopened = true;
          await inTime(this.#reopen(session), endsAt, options);
          continue;
        }
        if (error instanceof RcpCallError && error.httpStatus === 401 && !refreshed) {
          refreshed = true;
          const fresh = await inTime(this.#token(true), endsAt, options);
          if (fresh !== token) {
            token = fresh;
            continue;
          }
        }
        const delayMs = retryDelayMs(error, { retried, idempotent: isIdempotent }, policy);
        if (delayMs === undefined || (code !== undefined && options.noRetry?.includes(code))) throw error;
        if (performance.now() + delayMs >= endsAt) throw error;
        this.#options.onRetry?.({ method, delayMs, error });
        await pause(delayMs, options.signal);
        retried += 1;
      }
    }
  }

  async #token(refused: boolean): Promise<string | undefined> {
    const { token } = this.#options;
    const given = typeof token === "function" ? await token(refused) : token;
    // Whoever makes the header would say it with the token in its words.
    if (/[^\x20-\x7e]/.test(given?.trim() ?? "")) throw new TypeError("no header can carry the token");
    return given;
  }

  /** One initialize for all the calls that found the same session gone. */
  async #reopen(lost: string | undefined): Promise<void> {
    if (this.#session !== lost) return;
    this.#opening ??= this.initialize({}).finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  async #send(call: OutgoingCall, credentials: Credentials, endsAt: number, { signal, deadlineMs }: CallOptions) {
    const { method, params, onProgress } = call;
    const { timeoutMs = 60_000, maxResponseBytes = 64 * 1024 * 1024 } = this.#options;
    const leftMs = Math.floor(endsAt - performance.now());
    if (deadlineMs !== undefined && leftMs < 1) throw timedOut(deadlineMs);
    const id = this.#nextId++;
    const headers = headersOf(credentials);
    const own = { ...(deadlineMs !== undefined && { deadlineMs: leftMs }), ...(onProgress && { progressToken: id }) };
    try {
      return await exchange({
        url: methodUrl(this.#base, method),
        ...{ id, method, headers, maxResponseBytes, signal },
        params: Object.keys(own).length === 0 ? params : { ...params, _meta: { ...metaOf(params), ...own } },
        timeoutMs: Math.min(timeoutMs, leftMs),
        onNotification: onProgress && ((name, content) => hearProgress(name, content, id, onProgress)),
      });
    } catch (error) {
      const isLeft = signal?.aborted || (error instanceof RcpTransportError && error.fault === "timeout");
      // A proxy may keep the connection that was closed here; only a call of a session can be named (RCP §7.14).
      if (isLeft && credentials.session !== undefined)
        sendCancel(methodUrl(this.#base, "notifications/cancel"), id, headers);
      throw error;
    }
  }
}

/** A timer that is set for longer goes off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** For what has no deadline of its own: a token's source, and an `initialize` that other calls wait for, too. */
async function inTime<T>(work: Promise<T>, endsAt: number, { signal, deadlineMs }: CallOptions): Promise<T> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal?.reason);
  const timer =
    deadlineMs === undefined
      ? undefined
      : setTimeout(() => reject(timedOut(deadlineMs)), Math.min(endsAt - performance.now(), MAX_TIMER_MS));
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([work, left]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

const headersOf = ({ token, session }: Credentials): Record<string, string> => ({
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
  ...(session !== undefined && { "rcp-session": session }),
});

const metaOf = (params: object): object => ("_meta" in params && isObject(params._meta) ? params._meta : {});

/** Another call's progress, and what is no progress, is passed over (RCP §9). */
function hearProgress(method: string, params: Json, token: number, onProgress: (progress: Progress) => void): void {
  if (method !== "notifications/progress" || params.progressToken !== token) return;
  const progress = readProgress(params);
  if (progress !== undefined) onProgress(progress);
}
