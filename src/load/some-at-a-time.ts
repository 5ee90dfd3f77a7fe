/**
 * Does the work for each item, started in their order, at most `places` at the same time: what one caller sent as a list does not
 * run all at once.
 *
 * @throws what the first work to fail threw; no further one is started then
 */
export async function someAtATime<Item>(
  items: readonly Item[],
  places: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  let hasFailed = false;
  const takeTurns = async () => {
    for (const [index, item] of queue) {
      if (hasFailed) return;
      try {
        await work(item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(places, items.length) }, takeTurns));
}
