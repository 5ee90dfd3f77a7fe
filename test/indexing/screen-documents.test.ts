import { expect, test } from "vitest";
import type { Corpus } from "../../src/catalog/corpus.ts";
import { screenDocuments } from "../../src/indexing/screen-documents.ts";

test("of a call that is given up no further document is screened", async () => {
  const leaving = new AbortController();
  const screened: number[] = [];
  const documents = [0, 1, 2, 3].map((index) => ({
    index,
    document: {
      text: "amber",
      citation: {},
      meta: {
        ...{ json: "{}", columns: new Map() },
        get meta() {
          screened.push(index);
          return {};
        },
      },
    },
  }));
  const work = screenDocuments(documents, { screening: "flag" } as Corpus, {
    ...{ classifier: undefined, notes: [], observe: () => {}, signal: leaving.signal },
  });
  leaving.abort(new Error("gone"));

  await expect(work).rejects.toThrow("gone");
  expect(screened).toEqual([0, 1]);
});
