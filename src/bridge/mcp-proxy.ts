import type http from "node:http";
import { EventTooLong, readEvents } from "../client/event-stream.ts";
import { connectionError } from "../client/exchange.ts";
import { parseError, RpcError, timeout } from "../protocol/errors.ts";
import { type CallMessage, readId, readMessage } from "../protocol/message.ts";
import { isObject, member } from "../protocol/params.ts";
import { decodeUtf8 } from "../protocol/text.ts";
import type { JsonRpcId } from "../protocol/wire.ts";
import {
  bytesOf,
  isEventStream,
  linger,
  MAX_ANSWER_BYTES,
  type Poster,
  parseJson,
  readText,
  tooLong,
} from "./https-post.ts";
import { mcpHeaders } from "./mcp-headers.ts";
import { readWireError } from "./outcome.ts";
import type { Caller } from "./running-call.ts";

export interface McpProxyOptions {
  readonly poster: Poster;
  /** Of the server's MCP door. */
  readonly path: string;
  /** The longest that one request may take. */
  readonly timeoutMs: number;
  /** Told in one line why a request failed. */
  readonly say: (line: string) => void;
}

interface Running {
  readonly id: JsonRpcId;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** A failure in words for whoever set the client up: a client shows a message, and seldom a code. */
class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** What a client's cancel ends its request with. */
class Cancelled extends Error {
  override readonly name = "Cancelled";
}

/** JSON-RPC's own. */
const CODES = { parse: -32700, invalid: -32600, unknownMethod: -32601, failed: -32603 } as const;

/**
 * An MCP server on stdio that is the MCP door of a pgrcp server: each request is one POST, and its answer one line. Tools, texts and
 * marks are made by the server alone, so a client sees the same whichever way it comes.
 *
 * The door keeps nothing between requests. So notifications end here, and a cancel ends its request's connection.
 */
export class McpProxy {
  readonly isOpen = true;
  /** Never settles: it is the client that ends. */
  readonly ended = new Promise<never>(() => {});
  readonly #options: McpProxyOptions;
  readonly #running = new Set<Running>();
  /** What `initialize` agreed on; newer revisions say it in every request. */
  #revision: string | undefined;

  constructor(options: McpProxyOptions) {
    this.#options = options;
  }

  /** @returns the line that answers; undefined for what no line answers */
  async answerLine(line: Uint8Array, { onFrame }: Caller): Promise<string | undefined> {
    const body = decode(line);
    const message = body === undefined ? undefined : parseJson(body);
    if (body === undefined || message === undefined) return refusal(null, CODES.parse, parseError().message);
    const sorted = readMessage(message);
    switch (sorted.kind) {
      case "notification":
        if (sorted.method === "notifications/cancelled") this.#cancelNamed(sorted.params);
        return undefined;
      case "refusal":
        // The door asks its clients nothing, so a response is nobody's.
        return isObject(message) && !Object.hasOwn(message, "method")
          ? undefined
          : refusal(sorted.id, CODES.invalid, sorted.error.data.detail ?? sorted.error.message);
      case "call":
        return this.#answer(sorted, body, onFrame);
    }
  }

  /** Lets what runs finish for `graceMs`. */
  async close(graceMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const { controller } of this.#running) controller.abort(timeout("the bridge is closing"));
    }, graceMs);
    await Promise.all([...this.#running].map(({ done }) => done));
    clearTimeout(timer);
  }

  async #answer(call: CallMessage, body: string, onFrame: Caller["onFrame"]): Promise<string | undefined> {
    const headers = mcpHeaders(call, this.#revision);
    if (headers === undefined) return refusal(call.id, CODES.unknownMethod, "Method not found");
    const controller = new AbortController();
    const { signal } = controller;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const running = { id: call.id, controller, done };
    this.#running.add(running);
    const timer = setTimeout(
      () => controller.abort(timeout("no answer within the time allowed")),
      this.#options.timeoutMs,
    );
    try {
      const { poster, path } = this.#options;
      const response = await poster.post({ path, headers, body, signal });
      try {
        return JSON.stringify(await this.#read(response, call, onFrame));
      } finally {
        linger(response);
      }
    } catch (error) {
      // MCP, cancellation: nothing answers what was cancelled.
      if (signal.reason instanceof Cancelled) return undefined;
      const text = failureText(signal.aborted ? signal.reason : error);
      this.#options.say(text);
      return refusal(call.id, CODES.failed, text);
    } finally {
      clearTimeout(timer);
      this.#running.delete(running);
      resolve();
    }
  }

  async #read(
    response: http.IncomingMessage,
    { id, method }: CallMessage,
    onFrame: Caller["onFrame"],
  ): Promise<object> {
    if (isEventStream(response)) return readStream(response, id, onFrame);
    const answer = parseJson(await readText(response));
    if (!isAnswerTo(answer, id)) return refusedBy(response, answer, id);
    if (method === "initialize" && isObject(answer.result)) {
      const { protocolVersion } = answer.result;
      this.#revision = typeof protocolVersion === "string" ? protocolVersion : undefined;
    }
    return answer;
  }

  #cancelNamed(params: unknown): void {
    const id = isObject(params) ? readId(member(params, "requestId")) : null;
    for (const running of this.#running) if (running.id === id) running.controller.abort(new Cancelled());
  }
}

type Answer = Readonly<Record<string, unknown>>;

async function readStream(response: http.IncomingMessage, id: JsonRpcId, onFrame: Caller["onFrame"]): Promise<Answer> {
  for await (const event of readEvents(bytesOf(response), MAX_ANSWER_BYTES)) {
    if (event === undefined) continue;
    const message = parseJson(event);
    if (isAnswerTo(message, id)) return message;
    // On one line, whatever the event was written on.
    if (isObject(message)) await onFrame?.(JSON.stringify(message));
  }
  throw new Unanswered("the server's stream ended without an answer");
}

const isAnswerTo = (message: unknown, id: JsonRpcId): message is Answer =>
  isObject(message) && message.id === id && (isObject(message.result) || isObject(message.error));

/** The door's own refusal of a request that it could not read; of any other, what its status says. */
function refusedBy(response: http.IncomingMessage, answer: unknown, id: JsonRpcId): Answer {
  const error = readWireError(answer);
  if (response.statusCode === 400 && error !== undefined) return { jsonrpc: "2.0", id, error };
  throw new Unanswered(statusText(response));
}

function statusText({ statusCode: status = 0, headers }: http.IncomingMessage): string {
  const wait = headers["retry-after"];
  switch (status) {
    case 200:
      return "the server's answer is no MCP answer to the request";
    case 401:
      return "the server refuses the token (HTTP 401): it has expired, or is for another server; put a live one where the token is read from";
    case 404:
      return "there is no MCP door there (HTTP 404): check the URL, and that doors.mcp is on in the server's configuration";
    case 413:
      return "the request is longer than the server takes (HTTP 413)";
    case 429:
    case 503:
      return `the server has too much to do (HTTP ${status}): try again ${wait === undefined ? "later" : `in ${wait} s`}`;
    default:
      return `the server answered with HTTP status ${status}`;
  }
}

function failureText(error: unknown): string {
  if (error instanceof Unanswered) return error.message;
  const known = error instanceof EventTooLong ? tooLong() : error;
  if (known instanceof RpcError) return known.data.detail ?? known.message;
  return `no answer from the server: ${connectionError(error).detail}`;
}

const refusal = (id: JsonRpcId | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });

function decode(line: Uint8Array): string | undefined {
  try {
    return decodeUtf8(line);
  } catch {
    return undefined;
  }
}
