import { expect, test } from "vitest";
import { packToBudget } from "../../src/retrieval/pack.ts";

const counted: string[] = [];
/** A token a letter. */
const countTokens = async (texts: readonly string[]) => {
  counted.push(...texts);
  return texts.map(({ length }) => length);
};
const pack = (texts: readonly string[], budget: number) => packToBudget(texts, (text) => text, budget, countTokens);

test("packs as long as the next body fits, and up to the last token", async () => {
  expect(await pack(["aaa", "bb", "c"], 5)).toEqual({ items: ["aaa", "bb"], tokens: 5, firstIsOver: undefined });
  expect(await pack(["aaa", "bb", "c"], 6)).toEqual({ items: ["aaa", "bb", "c"], tokens: 6, firstIsOver: undefined });
});

test("skips none: what follows the first that does not fit is not packed, even where it would fit", async () => {
  expect(await pack(["aaa", "bbbbb", "c"], 5)).toEqual({ items: ["aaa"], tokens: 3, firstIsOver: undefined });
});

test("a first body over the budget leaves nothing, and says how large it is", async () => {
  expect(await pack(["aaaa", "b"], 3)).toEqual({ items: [], tokens: 0, firstIsOver: 4 });
});

test("counts no body after the one that does not fit", async () => {
  counted.length = 0;
  await pack(["aaa", "bbb", "ccc", "ddd"], 5);
  expect(counted).toEqual(["aaa", "bbb"]);
});

test("an empty body takes no room, and no items are no tokens", async () => {
  expect(await pack(["", "a"], 1)).toEqual({ items: ["", "a"], tokens: 1, firstIsOver: undefined });
  expect(await pack([], 1)).toEqual({ items: [], tokens: 0, firstIsOver: undefined });
});
