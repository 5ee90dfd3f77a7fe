import { invalidRequest, parseError, payloadTooLarge, type RpcError } from "../protocol/errors.ts";
import { type Message, readMessage } from "../protocol/message.ts";
import type { Bridge } from "./bridge.ts";
import { encodeAnswer, refused } from "./outcome.ts";
import type { Caller } from "./running-call.ts";

/** The longest line or body that is read. Servers take less by default and say so themselves. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const MAX_BATCH = 100;
/** Members of one batch that run at a time, as a server runs them. */
const BATCH_CONCURRENCY = 4;

// Strict: a lenient decoder would turn bad bytes of an id into U+FFFD.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Where a body came from: a line takes one message or a batch, over http each has its own path (RCP §5.2, ruling 7). */
export type Place =
  | { readonly kind: "line" }
  | {
      readonly kind: "path";
      /** What stands after the base, undecoded; empty at the base itself. */
      readonly method: string;
      readonly isBase: boolean;
    };

/** @returns the text that answers a line or a body; undefined when it held nothing but notifications */
export async function answerBody(
  body: Uint8Array,
  place: Place,
  bridge: Bridge,
  caller: Caller,
): Promise<string | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(body));
  } catch {
    return refusal(parseError());
  }
  if (!Array.isArray(value)) return bridge.answer(readSingle(value, place), caller);
  if (place.kind === "path" && !place.isBase) return refusal(invalidRequest("a batch is posted to the base path"));
  if (value.length === 0) return refusal(invalidRequest("a batch holds at least one message"));
  if (value.length > MAX_BATCH)
    return refusal(payloadTooLarge({ detail: `a batch holds at most ${MAX_BATCH} messages` }));
  return answerBatch(value, bridge, caller);
}

export const refusal = (error: RpcError): string => encodeAnswer(null, refused(error));

export const tooLarge = (what: string): RpcError =>
  payloadTooLarge({ detail: `${what} holds at most ${MAX_MESSAGE_BYTES} bytes` });

function readSingle(value: unknown, place: Place): Message {
  const message = readMessage(value);
  if (message.kind !== "call" || place.kind === "line" || place.method === message.method) return message;
  const error = invalidRequest("the path after the base must be the body's method, byte for byte");
  return { kind: "refusal", id: message.id, error };
}

async function answerBatch(values: readonly unknown[], bridge: Bridge, caller: Caller): Promise<string | undefined> {
  const answers: (string | undefined)[] = [];
  const queue = values.entries();
  const takeTurns = async () => {
    for (const [index, value] of queue) {
      const message = readBatched(value, values.length === 1);
      answers[index] = await bridge.answer(message, caller);
    }
  };
  await Promise.all(Array.from({ length: BATCH_CONCURRENCY }, takeTurns));
  const texts = answers.filter((answer) => answer !== undefined);
  return texts.length === 0 ? undefined : `[${texts.join(",")}]`;
}

function readBatched(value: unknown, isAlone: boolean): Message {
  const message = readMessage(value);
  if (isAlone || message.kind !== "call" || message.method !== "initialize") return message;
  return { kind: "refusal", id: message.id, error: invalidRequest("initialize is sent alone in its body") };
}
