import { ErrorCode, type ErrorData } from "../protocol/errors.ts";
import { isObject } from "../protocol/params.ts";
import { RcpCallError, RcpTransportError, type TransportFault } from "./errors.ts";
import { EventTooLong, readEvents } from "./event-stream.ts";

/** One request and its answer: HTTP statuses, JSON-RPC envelopes and lost connections become a result or one of two errors. */

export interface ExchangeRequest {
  readonly url: string;
  readonly id: number;
  readonly method: string;
  readonly params: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Takes what the server says before its answer; absent when nothing but the answer is wanted. */
  readonly onNotification?: ((method: string, params: Json) => void) | undefined;
}

export type Json = Readonly<Record<string, unknown>>;

/**
 * Sends one JSON-RPC request and reads its response.
 *
 * @returns `result`, an object
 * @throws RcpCallError, RcpTransportError, or the reason of the caller's signal
 */
export async function exchange(request: ExchangeRequest): Promise<Json> {
  const deadline = AbortSignal.timeout(request.timeoutMs);
  const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
  const accept = request.onNotification === undefined ? "application/json" : "application/json, text/event-stream";
  const body = JSON.stringify({ jsonrpc: "2.0", id: request.id, method: request.method, params: request.params });
  try {
    const response = await fetch(request.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept, ...request.headers },
      body,
      redirect: "manual", // a redirect would carry the token to another place
      signal,
    });
    return readEnvelope(response, await readAnswer(response, request), request.id);
  } catch (error) {
    if (error instanceof RcpCallError) throw error;
    if (request.signal?.aborted) throw request.signal.reason;
    if (deadline.aborted) throw timedOut(request.timeoutMs);
    if (error instanceof RcpTransportError) throw error;
    if (error instanceof EventTooLong) throw tooLong(request.maxResponseBytes);
    throw connectionError(error);
  }
}

export const timedOut = (ms: number) => new RcpTransportError("timeout", `none within ${ms} ms`, true);
const tooLong = (maxBytes: number) =>
  new RcpTransportError("malformed", `the answer is longer than ${maxBytes} bytes`, false);

/** @returns what should be the response; undefined for what is no JSON */
async function readAnswer(response: Response, request: ExchangeRequest): Promise<unknown> {
  const bytes = bytesOf(response, request.maxResponseBytes);
  const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  if (response.status !== 200 || !isStream) return parseJson(await readText(bytes));
  for await (const event of readEvents(bytes, request.maxResponseBytes)) {
    if (event === undefined) continue;
    const message = parseJson(event);
    if (!isObject(message) || typeof message.method !== "string") return message;
    if (isObject(message.params)) request.onNotification?.(message.method, message.params);
  }
  throw new RcpTransportError("interrupted", "the stream ended before the answer", true);
}

/** By a reader, because not every runtime can iterate a body. */
async function* bytesOf({ body }: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  let size = 0;
  try {
    for (;;) {
      const piece = await reader?.read();
      if (piece?.value === undefined) return;
      size += piece.value.byteLength;
      if (size > maxBytes) throw tooLong(maxBytes);
      yield piece.value;
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

async function readText(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of bytes) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

/** A hint to stop a call (RCP §7.14), so whatever comes of it is dropped. */
export function sendCancel(url: string, id: number, headers: Readonly<Record<string, string>>): void {
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancel", params: { id } }),
    redirect: "manual",
    signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS),
  })
    .then((response) => response.body?.cancel())
    .catch(() => {});
}

const CANCEL_TIMEOUT_MS = 5_000;

function readEnvelope(response: Response, envelope: unknown, id: number): Json {
  if (isObject(envelope) && isObject(envelope.error)) throw callError(envelope.error, response);
  if (response.status !== 200) throw statusError(response);
  if (!isObject(envelope)) throw new RcpTransportError("malformed", "the answer is not a JSON-RPC response", false);
  if (envelope.id !== id) throw new RcpTransportError("malformed", "the answer belongs to another request", false);
  if (!isObject(envelope.result)) throw new RcpTransportError("malformed", "the answer has no result object", false);
  return envelope.result;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function callError(error: Json, response: Response): RcpCallError {
  const data = readErrorData(error.data);
  return new RcpCallError({
    code: typeof error.code === "number" ? error.code : ErrorCode.InternalError,
    message: typeof error.message === "string" ? error.message : "the server gave no message",
    data,
    httpStatus: response.status,
    retryAfterMs: longest(data.retryAfterMs, retryAfterHeaderMs(response.headers.get("retry-after"), Date.now())),
  });
}

/** Keeps the members of RCP §12.1 that have the right type. */
function readErrorData(data: unknown): ErrorData {
  if (!isObject(data)) return {};
  const { field, option, retryable, retryAfterMs, detail } = data;
  return {
    ...(typeof field === "string" && { field }),
    ...(typeof option === "string" && { option }),
    ...(typeof retryable === "boolean" && { retryable }),
    ...(typeof retryAfterMs === "number" && retryAfterMs >= 0 && { retryAfterMs }),
    ...(typeof detail === "string" && { detail }),
  };
}

/** RCP §5.2: statuses that mirror a code; a proxy in between sends them without a JSON-RPC body. */
const MIRRORED: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [401, ErrorCode.Unauthorized],
  [403, ErrorCode.Unauthorized],
  [413, ErrorCode.PayloadTooLarge],
  [429, ErrorCode.RateLimited],
  [500, ErrorCode.InternalError],
  [502, ErrorCode.BackendUnavailable],
  [503, ErrorCode.BackendUnavailable],
  [504, ErrorCode.Timeout],
]);

function statusError(response: Response): RcpCallError | RcpTransportError {
  const code = MIRRORED.get(response.status);
  if (code === undefined) {
    // In a browser a redirect that is not followed has the status 0.
    const isRedirect = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
    const redirect = isRedirect ? ", a redirect" : "";
    return new RcpTransportError("status", `HTTP status ${response.status}${redirect}`, false);
  }
  return new RcpCallError({
    code,
    message: `HTTP status ${response.status}`,
    data: {},
    httpStatus: response.status,
    retryAfterMs: retryAfterHeaderMs(response.headers.get("retry-after"), Date.now()),
  });
}

/** Retry-After as seconds or as an HTTP date (RFC 9110 §10.2.3). */
export function retryAfterHeaderMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header.trim()) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

const longest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);

/** What Node says when no connection was made; the request cannot have arrived. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the network is unreachable",
  EAI_AGAIN: "the name could not be resolved now",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time allowed",
};

/** What became of the connection, from the error of whoever used it. */
export function connectionError(error: unknown): RcpTransportError {
  const code = causeCode(error);
  const known = UNREACHABLE[code];
  const make = (fault: TransportFault, detail: string, retryable: boolean) =>
    new RcpTransportError(fault, detail, retryable, { cause: error });
  if (known !== undefined) return make("unreachable", known, true);
  if (code === "ENOTFOUND") return make("unreachable", "the host name does not resolve", false);
  if (/CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO|ERR_SSL/.test(code)) {
    return make("unreachable", `TLS could not be established (${code})`, false);
  }
  return make("interrupted", code === "" ? "the connection was lost" : `the connection was lost (${code})`, true);
}

/** The system's error code behind fetch's own error, which names none. */
function causeCode(error: unknown): string {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    if ("code" in current && typeof current.code === "string" && current.code !== "") return current.code;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return "";
}
