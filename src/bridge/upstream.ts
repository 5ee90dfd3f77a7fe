import http from "node:http";
import https from "node:https";
import { EventTooLong, readEvents } from "../client/event-stream.ts";
import { connectionError } from "../client/exchange.ts";
import { backendUnavailable, invalidParams, RpcError, unknownMethod } from "../protocol/errors.ts";
import { isObject, type Params } from "../protocol/params.ts";
import { type Outcome, readOutcome, refused, unusable } from "./outcome.ts";
import { statusOutcome } from "./status-outcome.ts";

/** The server's side of the bridge: one message is one POST, and every way in which that can end is an outcome. */

export interface UpstreamOptions {
  /** Of one corpus, as `corpusEndpoint` makes it. */
  readonly base: URL;
  /** Certificates in PEM that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** Asked before every request. Undefined sends none. */
  readonly token: () => Promise<string | undefined>;
  /** Told in one line when no answer came. */
  readonly say: (line: string) => void;
}

export interface UpstreamCall {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
  readonly session: string | undefined;
  readonly signal: AbortSignal;
  /** Takes what the server sends before its answer, one at a time; absent when nothing but the answer is wanted. */
  readonly onEvent?: ((event: UpstreamEvent) => Promise<void>) | undefined;
}

/** A notification, or a sign of life. */
export type UpstreamEvent =
  | { readonly kind: "notification"; readonly method: string; readonly params: Params }
  | { readonly kind: "heartbeat" };

export interface Upstream {
  /** Never throws: a signal that aborts with an RpcError ends the call with that error. */
  call(call: UpstreamCall): Promise<Outcome>;
  /** Sends `notifications/cancel`; it is a hint, so whatever comes of it is dropped. */
  cancel(params: Params, session: string | undefined, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** A connection that is not there by then, TLS included, will not come. */
const CONNECT_TIMEOUT_MS = 4_000;
/** The most of an answer, or of one event, that is kept in memory. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** How long a server may take to end its answer once the bridge has read all that it needs. */
const LINGER_MS = 1_000;

/** Names that need no escaping in a path. RCP has no others, and an escaped one would not be the body's method. */
const METHOD = /^[\w.-]+(\/[\w.-]+)*$/;

/** Keeps its connections between calls, until `close`. */
export function createUpstream({ base, ca, token, say }: UpstreamOptions): Upstream {
  const isTls = base.protocol === "https:";
  const agent = isTls
    ? new https.Agent({ keepAlive: true, rejectUnauthorized: true, ...(ca !== undefined && { ca }) })
    : new http.Agent({ keepAlive: true });

  async function post(method: string, body: string, wants: Wants): Promise<http.IncomingMessage> {
    const bearer = await token();
    wants.signal.throwIfAborted();
    const request = (isTls ? https : http).request({
      agent,
      hostname: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port,
      method: "POST",
      // Not made by URL, which would resolve `..` in it.
      path: `${base.pathname}/${method}`,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        accept: wants.events ? "application/json, text/event-stream" : "application/json",
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(wants.session !== undefined && { "rcp-session": wants.session }),
      },
    });
    boundConnecting(request, isTls);
    const abort = () => request.destroy(wants.signal.reason);
    wants.signal.addEventListener("abort", abort, { once: true });
    request.once("close", () => wants.signal.removeEventListener("abort", abort));
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    request.once("response", resolve).on("error", reject);
    // Whoever reads the body is told of its loss by the reading.
    request.once("response", (response) => response.on("error", () => {}));
    request.end(body);
    return promise;
  }

  async function attempt(call: UpstreamCall): Promise<Outcome> {
    if (!METHOD.test(call.method)) return refused(unknownMethod());
    const { method, params, id, session, signal, onEvent } = call;
    const body = encodeRequest({ jsonrpc: "2.0", id, method, params });
    const response = await post(method, body, { session, signal, events: onEvent !== undefined });
    try {
      if (isEventStream(response)) return await readStream(response, call);
      const answer = parseJson(await readText(response));
      const status = response.statusCode ?? 0;
      if (status !== 200) return statusOutcome(status, response.headers["retry-after"], answer);
      return answer === undefined ? refused(unusable("the server's answer is not JSON")) : readOutcome(answer, id);
    } finally {
      linger(response);
    }
  }

  return {
    async call(call) {
      try {
        return await attempt(call);
      } catch (error) {
        if (call.signal.aborted && call.signal.reason instanceof RpcError) return refused(call.signal.reason);
        if (error instanceof RpcError) return refused(error);
        if (error instanceof EventTooLong) return refused(tooLong());
        const { detail } = connectionError(error);
        say(`no answer from the server: ${detail}`);
        return refused(unusable(detail));
      }
    },

    async cancel(params, session, signal) {
      const body = encodeRequest({ jsonrpc: "2.0", method: "notifications/cancel", params });
      await post("notifications/cancel", body, { session, signal, events: false }).then(linger, () => {});
    },

    close: () => agent.destroy(),
  };
}

interface Wants {
  readonly session: string | undefined;
  readonly signal: AbortSignal;
  readonly events: boolean;
}

declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/** A number too large for a double was read as an infinity, which `JSON.stringify` writes as null: as if it were absent. */
function keepOverflow(_key: string, value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY) return JSON.rawJSON("1e999");
  return value === Number.NEGATIVE_INFINITY ? JSON.rawJSON("-1e999") : value;
}

function encodeRequest(message: object): string {
  try {
    return JSON.stringify(message, keepOverflow);
  } catch (error) {
    // JSON.parse reads any depth; writing it again is recursive.
    if (error instanceof RangeError) throw invalidParams({ field: "params", detail: "is nested too deeply" });
    throw error;
  }
}

const isEventStream = ({ statusCode, headers }: http.IncomingMessage): boolean =>
  statusCode === 200 && /^text\/event-stream\b/i.test(headers["content-type"] ?? "");

async function readStream(response: http.IncomingMessage, { id, onEvent }: UpstreamCall): Promise<Outcome> {
  for await (const event of readEvents(bytesOf(response), MAX_ANSWER_BYTES)) {
    if (event === undefined) {
      await onEvent?.({ kind: "heartbeat" });
      continue;
    }
    const message = parseJson(event);
    if (!isObject(message) || typeof message.method !== "string") return readOutcome(message, id);
    const { method, params } = message;
    if (isObject(params)) await onEvent?.({ kind: "notification", method, params });
  }
  return refused(unusable("the server's stream ended without an answer"));
}

async function readText(response: http.IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytesOf(response)) {
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) throw tooLong();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

const tooLong = () =>
  backendUnavailable({ retryable: false, detail: `the server's answer is longer than ${MAX_ANSWER_BYTES} bytes` });

/** Leaves the response open when the reader stops early, so that the connection can be used again. */
const bytesOf = (response: http.IncomingMessage): AsyncIterable<Uint8Array> =>
  response.iterator({ destroyOnReturn: false });

/** Lets the answer end by itself for a moment, which keeps the connection. */
function linger(response: http.IncomingMessage): void {
  if (response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), LINGER_MS).unref();
  response.once("close", () => clearTimeout(timer));
  response.resume();
}

function boundConnecting(request: http.ClientRequest, isTls: boolean): void {
  request.once("socket", (socket) => {
    if (!socket.connecting) return;
    const detail = `no connection within ${CONNECT_TIMEOUT_MS} ms`;
    const timer = setTimeout(() => request.destroy(unusable(detail)), CONNECT_TIMEOUT_MS);
    const clear = () => clearTimeout(timer);
    socket.once(isTls ? "secureConnect" : "connect", clear);
    request.once("close", clear);
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
