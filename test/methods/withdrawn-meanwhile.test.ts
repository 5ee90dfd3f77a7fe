import { afterAll, beforeAll, expect, test } from "vitest";
import { purgeDocuments } from "../../src/maintenance/purge.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { testGenerator } from "../support/test-models.ts";

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

test("a purge between two recalls of one retrieve, which withdraws what the first one read, is no error", async () => {
  const tenant = freshTenant();
  const model = testEmbeddingModel();
  let questions = 0;
  const caller = callerOf(opened.database, tenant, {
    generator: testGenerator(() => "basalt"),
    embedding: {
      ...model,
      async embed(texts, kind, signal) {
        if (kind === "query" && ++questions === 2)
          await purgeDocuments(opened.operator, { tenant, corpus: "default" }, ["secret"]);
        return await model.embed(texts, kind, signal);
      },
    },
  });
  await caller.add([
    { id: "secret", text: "amber" },
    { id: "other", text: "amber basalt" },
  ]);

  expect(await caller.ids({ query: "amber", rewrite: "multi-query" })).toEqual(["other"]);
});
