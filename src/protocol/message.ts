import { invalidRequest, type RpcError } from "./errors.ts";
import { isObject, type Params } from "./params.ts";
import type { JsonRpcId } from "./wire.ts";

/** One JSON-RPC message as the one who answers it sorts it (RCP §4, DESIGN rulings 7 and 8). */

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

/** Sorts one parsed message. Never throws: what cannot be a request becomes a refusal. */
export function readMessage(value: unknown): Message {
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
