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

test("two batches are with the model at a time, and after one that fails no further one is sent", async () => {
  const model = testEmbeddingModel();
  const waiting: { readonly first: string | undefined; readonly settle: PromiseWithResolvers<void> }[] = [];
  const holding: typeof model = {
    ...model,
    async embed(texts, ...rest) {
      const settle = Promise.withResolvers<void>();
      waiting.push({ first: texts[0], settle });
      await settle.promise;
      return model.embed(texts, ...rest);
    },
  };
  const nextSent = async () => await new Promise((resolve) => setImmediate(resolve));
  const embedding = embedInBatches(holding, ["a", "b", "c", "d"], 1, new AbortController().signal, ACME);
  const failed = expect(embedding).rejects.toThrow("out of reach");

  await nextSent();
  expect(waiting.map(({ first }) => first)).toEqual(["a", "b"]);
  waiting[1]?.settle.resolve();
  await nextSent();
  expect(waiting.map(({ first }) => first)).toEqual(["a", "b", "c"]);
  waiting[0]?.settle.reject(new Error("out of reach"));
  await failed;
  waiting[2]?.settle.resolve();
  await nextSent();

  expect(waiting).toHaveLength(3);
});
