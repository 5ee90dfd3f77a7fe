export type Close = () => Promise<void>;

/**
 * Runs `work`, then closes what it opened, the last first, and all of it whatever fails on the way.
 *
 * @param work gets a function that takes a closing for later
 * @throws what `work` threw, or else what the first closing failed with
 */
export async function withClosing(work: (closeLater: (close: Close) => void) => Promise<void>): Promise<void> {
  const closings: Close[] = [];
  const outcomes = await Promise.allSettled([work((close) => void closings.push(close))]);
  for (const close of closings.reverse()) outcomes.push(...(await Promise.allSettled([close()])));
  throwFirst(outcomes);
}

/** Closes things that do not need each other. @throws what the first of them failed with, when all are done */
export async function closeTogether(...closings: readonly Close[]): Promise<void> {
  throwFirst(await Promise.allSettled(closings.map((close) => close())));
}

function throwFirst(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
