import type { Message } from "../protocol/message.ts";
import type { RpcReply, RpcRequest } from "./request.ts";

/** Members of one batch that run at a time: one caller's batch must not take the whole connection pool. */
const CONCURRENCY = 4;

/**
 * Answers a batch (RCP §11): members start in order, a few at a time, and answers keep the order.
 *
 * @param answer gets the milliseconds that a member must wait, or undefined when it may run; gives undefined for a notification
 */
export async function answerBatch(
  messages: readonly Message[],
  takeUnit: RpcRequest["takeUnit"],
  answer: (message: Message, waitMs: number | undefined) => Promise<string | undefined>,
): Promise<RpcReply> {
  const waits = await takeUnits(messages, takeUnit);
  const texts: (string | undefined)[] = [];
  const queue = messages.entries();
  const takeTurns = async () => {
    for (const [index, message] of queue) texts[index] = await answer(message, waits[index]);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, takeTurns));
  const answers = texts.filter((text) => text !== undefined);
  return answers.length === 0 ? { kind: "silent" } : { kind: "batch", text: `[${answers.join(",")}]` };
}

/**
 * Takes a unit for each call of a batch after its first member, which has the request's own (ruling 5).
 *
 * @returns for each message the milliseconds to wait, or undefined when it may run
 */
async function takeUnits(
  messages: readonly Message[],
  takeUnit: RpcRequest["takeUnit"],
): Promise<(number | undefined)[]> {
  const waits: (number | undefined)[] = [];
  // One after the other, so that it is the last ones that find none left.
  for (const [index, { kind }] of messages.entries())
    waits.push(index > 0 && kind === "call" ? await takeUnit() : undefined);
  return waits;
}
