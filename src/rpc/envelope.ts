import { invalidRequest, parseError, payloadTooLarge, type RpcError } from "../protocol/errors.ts";
import { type Message, readMessage } from "../protocol/message.ts";
import type { RequestPath } from "./request-path.ts";

export { type CallMessage, type Message, readId } from "../protocol/message.ts";

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
