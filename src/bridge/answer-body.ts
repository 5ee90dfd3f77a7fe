import { type Place, readEnvelope } from "../protocol/envelope.ts";
import { payloadTooLarge, type RpcError } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { Bridge } from "./bridge.ts";
import { encodeAnswer, refused } from "./outcome.ts";
import type { Caller } from "./running-call.ts";

/** The longest line or body that is read. Servers take less by default and say so themselves. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const MAX_BATCH = 100;
/** Members of one batch that run at a time, as a server runs them. */
const BATCH_CONCURRENCY = 4;

/** @returns the text that answers a line or a body; undefined when it held nothing but notifications */
export async function answerBody(
  body: Uint8Array,
  place: Place,
  bridge: Bridge,
  caller: Caller,
): Promise<string | undefined> {
  const envelope = readEnvelope(body, place, { maxBatch: MAX_BATCH });
  return envelope.kind === "single"
    ? bridge.answer(envelope.message, caller)
    : answerBatch(envelope.messages, bridge, caller);
}

/** The frame of an error that belongs to no call. */
export const refusal = (error: RpcError): string => encodeAnswer(null, refused(error));

export const tooLarge = (what: string): RpcError =>
  payloadTooLarge({ detail: `${what} holds at most ${MAX_MESSAGE_BYTES} bytes` });

async function answerBatch(messages: readonly Message[], bridge: Bridge, caller: Caller): Promise<string | undefined> {
  const answers: (string | undefined)[] = [];
  const queue = messages.entries();
  const takeTurns = async () => {
    for (const [index, message] of queue) answers[index] = await bridge.answer(message, caller);
  };
  await Promise.all(Array.from({ length: BATCH_CONCURRENCY }, takeTurns));
  const texts = answers.filter((answer) => answer !== undefined);
  return texts.length === 0 ? undefined : `[${texts.join(",")}]`;
}
