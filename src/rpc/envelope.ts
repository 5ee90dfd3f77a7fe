import { invalidRequest, parseError, payloadTooLarge, type RpcError } from "../protocol/errors.ts";
import { isObject, type Params } from "../protocol/params.ts";
import type { JsonRpcId } from "../protocol/wire.ts";
import type { RequestPath } from "./request-path.ts";

export interface CallMessage {
  readonly kind: "call";
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params: unknown;
}

/** One JSON-RPC message, sorted. A refusal is answered with its error; a notification never is. */
export type Message =
  | CallMessage
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "refusal"; readonly id: JsonRpcId | null; readonly error: RpcError };

export type Envelope =
  | { readonly kind: "single"; readonly message: Message }
  | { readonly kind: "batch"; readonly messages: readonly Message[] };

// Strict: a lenient decoder would turn bad bytes of an id into U+FFFD. With ignoreBOM a byte order mark stays in the text,
// where JSON.parse refuses it.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Sorts a request body into messages (DESIGN rulings 4, 7 and 8). Never throws: what cannot be a request becomes a refusal.
 *
 * @param maxBatch most messages in a batch; a longer one is refused whole and nothing of it runs
 * @see RCP §4, §5.2, §11
 */
export function readEnvelope(body: Uint8Array, path: RequestPath, maxBatch: number): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(body));
  } catch {
    return refuseAll(parseError());
  }
  if (!Array.isArray(value)) return { kind: "single", message: readSingle(value, path) };
  if (!path.isBase) return refuseAll(invalidRequest("a batch is posted to the base path"));
  if (value.length === 0) return refuseAll(invalidRequest("a batch holds at least one message"));
  if (value.length > maxBatch)
    return refuseAll(payloadTooLarge({ detail: `a batch holds at most ${maxBatch} messages (limits.maxBatch)` }));
  const isAlone = value.length === 1;
  return { kind: "batch", messages: value.map((message) => readBatched(message, isAlone)) };
}

const refuseAll = (error: RpcError): Envelope => ({
  kind: "single",
  message: { kind: "refusal", id: null, error },
});

function readSingle(value: unknown, path: RequestPath): Message {
  const message = readMessage(value);
  if (message.kind !== "call" || message.method === path.method) return message;
  const error = invalidRequest("the path after the base must be the body's method, byte for byte");
  return { kind: "refusal", id: message.id, error };
}

function readBatched(value: unknown, isAlone: boolean): Message {
  const message = readMessage(value);
  if (isAlone || message.kind !== "call" || message.method !== "initialize") return message;
  return { kind: "refusal", id: message.id, error: invalidRequest("initialize is sent alone in its body") };
}

function readMessage(value: unknown): Message {
  const refuse = (id: JsonRpcId | null, detail: string): Message => ({
    kind: "refusal",
    id,
    error: invalidRequest(detail),
  });
  if (!isObject(value)) return refuse(null, "a message is an object");
  const method = own(value, "method");
  const params = own(value, "params");
  // Even without `jsonrpc`: the sender of a message without an id waits for no answer (ruling 7).
  if (typeof method === "string" && !Object.hasOwn(value, "id")) return { kind: "notification", method, params };
  const id = readId(own(value, "id"));
  if (own(value, "jsonrpc") !== "2.0") return refuse(id, 'jsonrpc must be "2.0"');
  if (typeof method !== "string") return refuse(id, "method must be a string");
  if (id === null) return refuse(null, "id must be a string or a number that a double holds exactly");
  if (method.startsWith("notifications/")) return refuse(id, "a notification has no id");
  return { kind: "call", id, method, params };
}

/** Members count only when they are the message's own: `__proto__` in a body lends nothing. */
const own = (message: Params, name: string): unknown => (Object.hasOwn(message, name) ? message[name] : undefined);

/** The id if it can be echoed with its type and value, else null (ruling 8). */
export function readId(value: unknown): JsonRpcId | null {
  if (typeof value === "string") return value;
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? null : value;
}
