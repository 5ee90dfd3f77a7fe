import { invalidRequest, parseError, payloadTooLarge, type RpcError } from "./errors.ts";
import { type Message, readMessage } from "./message.ts";
import { decodeUtf8 } from "./text.ts";

/** Where a body came in: as a line of stdio (RCP §5.1), or at a path of HTTP (RCP §5.2). */
export type Place =
  | { readonly kind: "line" }
  | {
      readonly kind: "path";
      /** What stands after the base, undecoded; undefined at the base itself, where batches go. */
      readonly method: string | undefined;
    };

export type Envelope =
  | { readonly kind: "single"; readonly message: Message }
  | { readonly kind: "batch"; readonly messages: readonly Message[] };

/** Most messages in a batch, and the setting that says so, if one does. */
export interface BatchLimit {
  readonly maxBatch: number;
  readonly setting?: string;
}

/**
 * Sorts a body into messages (DESIGN rulings 4, 7 and 8). Never throws: what cannot be a request becomes a refusal. A batch over its
 * limit is refused whole and nothing of it runs.
 *
 * @see RCP §4, §5, §11
 */
export function readEnvelope(body: Uint8Array, place: Place, { maxBatch, setting }: BatchLimit): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(body));
  } catch {
    return refuseAll(parseError());
  }
  if (!Array.isArray(value)) return { kind: "single", message: readSingle(value, place) };
  if (place.kind === "path" && place.method !== undefined)
    return refuseAll(invalidRequest("a batch is posted to the base path"));
  if (value.length === 0) return refuseAll(invalidRequest("a batch holds at least one message"));
  if (value.length > maxBatch) {
    const named = setting === undefined ? "" : ` (${setting})`;
    return refuseAll(payloadTooLarge({ detail: `a batch holds at most ${maxBatch} messages${named}` }));
  }
  const isAlone = value.length === 1;
  return { kind: "batch", messages: value.map((message) => readBatched(message, isAlone)) };
}

const refuseAll = (error: RpcError): Envelope => ({
  kind: "single",
  message: { kind: "refusal", id: null, error },
});

function readSingle(value: unknown, place: Place): Message {
  const message = readMessage(value);
  if (message.kind !== "call" || place.kind === "line") return message;
  // The path of the empty name is the base.
  if (message.method === (place.method ?? "")) return message;
  const error = invalidRequest("the path after the base must be the body's method, byte for byte");
  return { kind: "refusal", id: message.id, error };
}

function readBatched(value: unknown, isAlone: boolean): Message {
  const message = readMessage(value);
  if (isAlone || message.kind !== "call" || message.method !== "initialize") return message;
  return { kind: "refusal", id: message.id, error: invalidRequest("initialize is sent alone in its body") };
}
