import { payloadTooLarge, type RpcError, rateLimited } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import { utf8Bytes } from "../protocol/text.ts";
import type { RpcReply, RpcRequest } from "./request.ts";

/** Members of one batch that run at a time: one caller's batch must not take the whole connection pool. */
const CONCURRENCY = 4;

/**
 * Answers a batch (RCP §11): members start in order, a few at a time, and answers keep the order.
 *
 * Memory: all answers wait for the last one, so once they hold `maxAnswerBytes` the calls that have not started are refused. Those
 * that run by then add theirs.
 *
 * @param answer gets why a call must not run, or undefined when it may; gives undefined for a notification
 */
export async function answerBatch(
  messages: readonly Message[],
  takeUnit: RpcRequest["takeUnit"],
  maxAnswerBytes: number,
  answer: (message: Message, refusal: RpcError | undefined) => Promise<string | undefined>,
): Promise<RpcReply> {
  const waits = await takeUnits(messages, takeUnit);
  const texts: (string | undefined)[] = [];
  let bytes = 0;
  const queue = messages.entries();
  const takeTurns = async () => {
    for (const [index, message] of queue) {
      const waitMs = waits[index];
      const refusal =
        waitMs !== undefined ? overRate(waitMs) : bytes >= maxAnswerBytes ? full(maxAnswerBytes) : undefined;
      const text = await answer(message, refusal);
      texts[index] = text;
      bytes += utf8Bytes(text ?? "");
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, takeTurns));
  const answers = texts.filter((text) => text !== undefined);
  return answers.length === 0 ? { kind: "silent" } : { kind: "batch", text: `[${answers.join(",")}]` };
}

const overRate = (retryAfterMs: number): RpcError =>
  rateLimited({ retryAfterMs, detail: "each call of a batch counts (rateLimit.principal)" });

const full = (maxAnswerBytes: number): RpcError =>
  payloadTooLarge({
    detail: `the answers before this one hold ${maxAnswerBytes} bytes (limits.maxBatchAnswerBytes); send it in another batch`,
  });

/**
 * Takes a unit for each call of a batch after its first member, which has the request's own (DESIGN ruling 5).
 *
 * All are asked for at once, in the members' order, so that it is the last ones that find none left, and a store that is far away is
 * waited for once.
 *
 * @returns for each message the milliseconds to wait, or undefined when it may run
 */
const takeUnits = (
  messages: readonly Message[],
  takeUnit: RpcRequest["takeUnit"],
): Promise<readonly (number | undefined)[]> =>
  Promise.all(messages.map(({ kind }, index) => (index > 0 && kind === "call" ? takeUnit() : undefined)));
