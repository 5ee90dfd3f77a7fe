import { expect, test } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { cachedQueries } from "../../src/models/cached-queries.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const ACME = "acme" as TenantId;
const GLOBEX = "globex" as TenantId;
const signal = new AbortController().signal;
/** A vector of 32 numbers and what is kept beside it. */
const ENTRY_BYTES = 32 * 4 + 256;

/** A model and what it was asked. */
function asked(maxBytes: number) {
  const calls: string[] = [];
  const model = testEmbeddingModel();
  const cached = cachedQueries(
    {
      ...model,
      embed: (texts, kind, ...rest) => {
        calls.push(`${kind} ${texts.join("|")}`);
        return model.embed(texts, kind, ...rest);
      },
    },
    maxBytes,
  );
  return { calls, ask: (text: string, party?: TenantId) => cached.embed([text], "query", signal, party), cached };
}

test("the model is asked once for a tenant's query, and the vector is the model's own", async () => {
  const { calls, ask } = asked(1_000_000);
  const [first] = await ask("apple pear", ACME);
  expect(await ask("apple pear", ACME)).toEqual([first]);
  expect(await testEmbeddingModel().embed(["apple pear"], "query", signal)).toEqual([first]);
  expect(calls).toEqual(["query apple pear"]);
});

test("one tenant's queries are not another's, nor anybody's without a tenant", async () => {
  const { calls, ask } = asked(1_000_000);
  await ask("apple", ACME);
  await ask("apple", GLOBEX);
  await ask("apple");
  await ask("apple");
  expect(calls).toHaveLength(4);
});

test("documents and several texts at once go to the model each time", async () => {
  const { calls, cached } = asked(1_000_000);
  for (let round = 0; round < 2; round++) {
    await cached.embed(["apple"], "document", signal, ACME);
    await cached.embed(["apple", "pear"], "query", signal, ACME);
    expect(await cached.embed([], "query", signal, ACME)).toEqual([]);
  }
  expect(calls).toEqual([
    "document apple",
    "query apple|pear",
    "query ",
    "document apple",
    "query apple|pear",
    "query ",
  ]);
});

test("a tenant has an eighth of the room, and what it used last stays", async () => {
  const { calls, ask } = asked(8 * 2 * ENTRY_BYTES);
  for (const text of ["a", "b", "a", "c", "a", "b"]) await ask(text, ACME);
  expect(calls).toEqual(["query a", "query b", "query c", "query b"]);
});

test("when all room is taken, the tenant that asked longest ago makes some", async () => {
  const { calls, ask } = asked(8 * ENTRY_BYTES);
  const tenants = Array.from({ length: 8 }, (_, n) => `tenant-${n}` as TenantId);
  for (const tenant of tenants) await ask("a", tenant);
  await ask("a", tenants[0]);
  await ask("a", ACME);
  expect(calls).toHaveLength(9);
  await ask("a", tenants[0]);
  expect(calls).toHaveLength(9);
  await ask("a", tenants[1]);
  expect(calls).toHaveLength(10);
});

test("without room nothing is kept, and a call that was given up is not answered", async () => {
  const { calls, ask, cached } = asked(0);
  await ask("a", ACME);
  await ask("a", ACME);
  expect(calls).toHaveLength(2);
  const { cached: full, ask: fill } = asked(1_000_000);
  await fill("a", ACME);
  for (const one of [cached, full])
    await expect(one.embed(["a"], "query", AbortSignal.abort(new Error("gone")), ACME)).rejects.toThrow("gone");
});

test("a failure is not kept", async () => {
  const model = testEmbeddingModel();
  let fails = true;
  const cached = cachedQueries(
    {
      ...model,
      embed: (...args) => (fails ? Promise.reject(new Error("down")) : model.embed(...args)),
    },
    1_000_000,
  );
  await expect(cached.embed(["a"], "query", signal, ACME)).rejects.toThrow("down");
  fails = false;
  expect(await cached.embed(["a"], "query", signal, ACME)).toHaveLength(1);
});
