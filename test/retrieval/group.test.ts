import { expect, test } from "vitest";
import { groupByDocument } from "../../src/retrieval/group.ts";

test("a document stands where its first chunk stood, once", () => {
  const chunk = (docId: string, ordinal: number) => ({
    chunkNo: ordinal,
    docId,
    ordinal,
    print: undefined,
    dense: undefined,
    sparse: undefined,
  });
  const grouped = groupByDocument([chunk("b", 4), chunk("a", 1), chunk("b", 0), chunk("a", 2), chunk("c", 0)]);
  expect(grouped.map(({ docId, ordinal }) => `${docId}#${ordinal}`)).toEqual(["b#4", "a#1", "c#0"]);
});
