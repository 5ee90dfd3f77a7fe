import { afterAll, beforeAll, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { testIssuer } from "../support/test-issuer.ts";
import { testGenerator, testReranker } from "../support/test-models.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase();
});
afterAll(() => db.close());

/** Models that note in whose name they are asked, last argument as they have it. */
function notingModels() {
  const asked: [model: string, party: TenantId | undefined][] = [];
  const note = (model: string, party: TenantId | undefined) => void asked.push([model, party]);
  const model = testEmbeddingModel();
  const reranker = testReranker();
  const generator = testGenerator();
  return {
    asked,
    embedding: {
      ...model,
      countTokens: (texts: readonly string[], party?: TenantId) => {
        note("count", party);
        return model.countTokens(texts, party);
      },
      embed: (...args: Parameters<typeof model.embed>) => {
        note("embed", args[3]);
        return model.embed(...args);
      },
    },
    reranker: {
      ...reranker,
      score: (...args: Parameters<typeof reranker.score>) => {
        note("rerank", args[3]);
        return reranker.score(...args);
      },
    },
    generator: {
      ...generator,
      generate: (...args: Parameters<typeof generator.generate>) => {
        note("generate", args[2]);
        return generator.generate(...args);
      },
    },
    classifier: {
      onFailure: "fail" as const,
      async suspects(texts: readonly string[], _signal: AbortSignal, party?: TenantId) {
        note("classify", party);
        return texts.map(() => false);
      },
      async close() {},
    },
  };
}

test("whatever a call asks of a model, it asks in its tenant's name", async () => {
  const { asked, ...models } = notingModels();
  const { database } = db;
  const issuer = await testIssuer();
  const parts = { issuer, config: { auth: { combinedTokens: true } }, handlers: HANDLERS, database, ...models };
  const server = await startRcpServer({ ...parts, corpora: new CachedCorpusStore(database) });
  const token = await issuer.mint({ tenant: "in-turn", credentials: CREDENTIALS });

  for (const [method, params] of [
    ["index/add", { documents: [{ id: "a", text: "amber", meta: { title: "stones" } }], contextual: true }],
    ["retrieve", { query: "amber", rerank: {}, rewrite: "rewrite", tokenBudget: 100 }],
    ["embed", { inputs: ["amber"] }],
    ["rerank", { query: "amber", passages: ["a", "b"] }],
    ["query/transform", { query: "amber", method: "rewrite" }],
  ] as const)
    expect((await server.call(method, params, { token })).body).toHaveProperty("result");
  await server.close();

  expect(new Set(asked.map(([model]) => model))).toEqual(new Set(["classify", "count", "generate", "embed", "rerank"]));
  expect(asked.filter(([, party]) => party !== "in-turn")).toEqual([]);
});
