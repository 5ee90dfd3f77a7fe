/** What fits into a budget of tokens. */
export interface Packed<Item> {
  readonly items: readonly Item[];
  /** Of all their bodies together. */
  readonly tokens: number;
  /** Tokens of the first body, when it alone is over the budget and so nothing was packed. */
  readonly firstIsOver: number | undefined;
}

/**
 * Takes items in their order until the next one's body no longer fits: none is skipped, so what was packed is the beginning of the
 * ranked list, and a next page can go on behind it. The budget is never exceeded, not by the first item either.
 *
 * @param countTokens the embedding model's; bodies after the one that does not fit are not counted
 * @see RCP §7.7.2
 */
export async function packToBudget<Item>(
  items: readonly Item[],
  bodyOf: (item: Item) => string,
  budget: number,
  countTokens: (texts: readonly string[]) => Promise<readonly number[]>,
): Promise<Packed<Item>> {
  let tokens = 0;
  for (const [index, item] of items.entries()) {
    const [count = 0] = await countTokens([bodyOf(item)]);
    if (tokens + count > budget)
      return { items: items.slice(0, index), tokens, firstIsOver: index === 0 ? count : undefined };
    tokens += count;
  }
  return { items, tokens, firstIsOver: undefined };
}
