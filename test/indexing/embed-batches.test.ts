import { expect, test } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { embedInBatches } from "../../src/indexing/embed-batches.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const ACME = "acme" as TenantId;

test("a model is given at most so many texts at a time, and the vectors come back in the order of the texts", async () => {
  const model = testEmbeddingModel();
  const sizes: number[] = [];
  const counting: typeof model = {
    ...model,
    embed: (texts, ...rest) => {
      sizes.push(texts.length);
      return model.embed(texts, ...rest);
    },
  };
  const texts = Array.from({ length: 70 }, (_, n) => `text ${n}`);
  const { signal } = new AbortController();

  const vectors = await embedInBatches(counting, texts, 32, signal, ACME);

  expect(sizes).toEqual([32, 32, 6]);
  expect(vectors).toEqual(await embedInBatches(model, texts, 1, signal, ACME));
});
