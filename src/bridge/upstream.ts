import type http from "node:http";
import { EventTooLong, readEvents } from "../client/event-stream.ts";
import { connectionError } from "../client/exchange.ts";
import { invalidParams, RpcError, unknownMethod } from "../protocol/errors.ts";
import { isObject, type Params } from "../protocol/params.ts";
import {
  bytesOf,
  createPoster,
  isEventStream,
  linger,
  MAX_ANSWER_BYTES,
  type PosterOptions,
  parseJson,
  readText,
  tooLong,
} from "./https-post.ts";
import { type Outcome, readOutcome, refused, unusable } from "./outcome.ts";
import { statusOutcome } from "./status-outcome.ts";

/** The server's side of the bridge: one message is one POST, and every way in which that can end is an outcome. */

export interface UpstreamOptions extends PosterOptions {
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

/** Names that need no escaping in a path. RCP has no others, and an escaped one would not be the body's method. */
const METHOD = /^[\w.-]+(\/[\w.-]+)*$/;

/** Keeps its connections between calls, until `close`. */
export function createUpstream({ base, ca, token, say }: UpstreamOptions): Upstream {
  const poster = createPoster({ base, token, ...(ca !== undefined && { ca }) });

  const post = (method: string, body: string, { session, signal, events }: Wants) =>
    poster.post({
      // Not made by URL, which would resolve `..` in it.
      path: `${base.pathname}/${method}`,
      headers: {
        accept: events ? "application/json, text/event-stream" : "application/json",
        ...(session !== undefined && { "rcp-session": session }),
      },
      body,
      signal,
    });

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

    close: () => poster.close(),
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
