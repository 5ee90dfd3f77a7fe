import { ErrorCode } from "../protocol/errors.ts";
import { type MethodName, PROTOCOL_VERSION } from "../protocol/methods.ts";
import type { Hit, RetrieveResult } from "../protocol/wire.ts";
import { corpusEndpoint, isPrivateChannel, methodUrl } from "./endpoint.ts";
import { RcpCallError, RcpTransportError } from "./errors.ts";
import { exchange } from "./exchange.ts";
import { DEFAULT_RETRY, pause, type RetryPolicy, retryDelayMs } from "./retry.ts";
import type { AddResult, DeleteResult, NewDocument, RetrieveParams, ServerInfo } from "./types.ts";

/** A client of one corpus: typed calls over HTTP, retried as RCP §12.2 says, with a session only where the server wants one. */

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
  /** RCP codes that the caller deals with itself, so that they are not retried. */
  readonly noRetry?: readonly number[];
  readonly retry?: Partial<RetryPolicy>;
}

export class RcpClient {
  readonly #base: URL;
  readonly #options: RcpClientOptions;
  readonly #retry: RetryPolicy;
  #nextId = 1;
  #session: string | undefined;
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

  /** Opens a session (RCP §13). Not needed: it is opened on the first call to a server that requires one. */
  async initialize(options: CallOptions = {}): Promise<ServerInfo> {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      client: this.#options.clientInfo ?? { name: "pgrcp-client", version: "1" },
      capabilities: {},
    };
    const result = readServerInfo(await this.#call("initialize", params, true, options));
    const session = result._meta?.session;
    this.#session = typeof session === "string" ? session : undefined;
    return result;
  }

  async info(options: CallOptions = {}): Promise<ServerInfo> {
    return readServerInfo(await this.#call("info", {}, true, options));
  }

  async ping(options: CallOptions = {}): Promise<void> {
    await this.#call("ping", {}, true, options);
  }

  async retrieve(params: RetrieveParams, options: CallOptions = {}): Promise<RetrieveResult> {
    return readRetrieveResult(await this.#call("retrieve", params, true, options));
  }

  /** Adds or replaces documents. Repeated after a lost connection only when every document has an id (RCP §7.10). */
  async indexAdd(documents: readonly NewDocument[], options: CallOptions = {}): Promise<AddResult> {
    const idempotent = documents.every((document) => document.id !== undefined);
    const result = await this.#call("index/add", { documents }, idempotent, options);
    const { ids } = result;
    if (!Array.isArray(ids) || ids.length !== documents.length || !ids.every((id) => typeof id === "string")) {
      throw malformed("index/add must answer one id for each document");
    }
    return { ids, ...(typeof result.chunks === "number" && { chunks: result.chunks }) };
  }

  async indexDelete(ids: readonly string[], options: CallOptions = {}): Promise<DeleteResult> {
    const result = await this.#call("index/delete", { ids }, true, options);
    if (typeof result.deleted !== "number") throw malformed("index/delete answered without a count");
    return { deleted: result.deleted };
  }

  /** Ends the session, if one was opened. */
  async close(options: CallOptions = {}): Promise<void> {
    if (this.#session === undefined) return;
    await this.#call("shutdown", {}, true, options);
    this.#session = undefined;
  }

  async #call(method: MethodName, params: object, idempotent: boolean, options: CallOptions) {
    const policy = { ...this.#retry, ...options.retry };
    let token = await this.#token(false);
    let retried = 0;
    let reopened = false;
    let refreshed = false;
    for (;;) {
      const session = method === "initialize" ? undefined : this.#session;
      try {
        return await this.#send(method, params, { token, session }, options);
      } catch (error) {
        if (!(error instanceof RcpCallError || error instanceof RcpTransportError)) throw error;
        const code = error instanceof RcpCallError ? error.code : undefined;
        if (code === ErrorCode.NotInitialized && !reopened && method !== "initialize") {
          reopened = true;
          await this.#reopen(session, options);
          continue;
        }
        if (error instanceof RcpCallError && error.httpStatus === 401 && !refreshed) {
          refreshed = true;
          const fresh = await this.#token(true);
          if (fresh !== token) {
            token = fresh;
            continue;
          }
        }
        const delayMs = retryDelayMs(error, { retried, idempotent }, policy);
        if (delayMs === undefined || (code !== undefined && options.noRetry?.includes(code))) throw error;
        this.#options.onRetry?.({ method, delayMs, error });
        await pause(delayMs, options.signal);
        retried += 1;
      }
    }
  }

  async #token(refused: boolean): Promise<string | undefined> {
    const { token } = this.#options;
    return typeof token === "function" ? await token(refused) : token;
  }

  /** One initialize for all the calls that found the same session gone. */
  async #reopen(lost: string | undefined, options: CallOptions): Promise<void> {
    if (this.#session !== lost) return;
    this.#opening ??= this.initialize().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
    options.signal?.throwIfAborted();
  }

  #send(
    method: MethodName,
    params: object,
    { token, session }: { readonly token: string | undefined; readonly session: string | undefined },
    options: CallOptions,
  ) {
    const headers: Record<string, string> = {};
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    if (session !== undefined) headers["rcp-session"] = session;
    return exchange({
      url: methodUrl(this.#base, method),
      id: this.#nextId++,
      method,
      params,
      headers,
      timeoutMs: this.#options.timeoutMs ?? 60_000,
      maxResponseBytes: this.#options.maxResponseBytes ?? 64 * 1024 * 1024,
      signal: options.signal,
    });
  }
}

const malformed = (detail: string) => new RcpTransportError("malformed", detail, false);

function readServerInfo(result: Readonly<Record<string, unknown>>): ServerInfo {
  const { protocolVersion, server, capabilities } = result;
  if (protocolVersion !== PROTOCOL_VERSION) throw malformed("the server speaks another protocol version");
  if (typeof server !== "object" || server === null) throw malformed("the server did not name itself");
  if (typeof capabilities !== "object" || capabilities === null) throw malformed("the server named no capabilities");
  return result as unknown as ServerInfo;
}

function readRetrieveResult(result: Readonly<Record<string, unknown>>): RetrieveResult {
  if (!Array.isArray(result.hits)) throw malformed("retrieve answered without hits");
  for (const hit of result.hits as readonly Partial<Hit>[]) {
    if (typeof hit?.id !== "string" || typeof hit.score !== "number") throw malformed("a hit needs an id and a score");
    if (typeof hit.chunk?.docId !== "string") throw malformed("a hit needs the id of its document");
  }
  return result as unknown as RetrieveResult;
}
