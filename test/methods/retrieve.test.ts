import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Corpus, DEFAULT_CORPUS } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import { addDocuments } from "../../src/indexing/add-documents.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { planAdd } from "../../src/plan/plan-add.ts";
import { createTenant } from "../../src/sql/tenants.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";

const FIELDS = { year: "int", tags: "keyword[]", lang: "keyword", score: "float", live: "bool", at: "date" } as const;
const config = { filter: { fields: FIELDS } };

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(FIELDS) });
});
afterAll(() => opened.close());

const tenant = (options: Parameters<typeof callerOf>[2] = {}): Caller =>
  callerOf(opened.database, freshTenant(), { config, ...options });

const MODES = ["dense", "sparse", "hybrid"] as const;
const FRUIT = [
  { id: "apple", text: "apple apple orchard", meta: { year: 2001, lang: "en", tags: ["fruit", "red"] } },
  { id: "pear", text: "pear orchard garden", meta: { year: 2002, lang: "en", tags: ["fruit"] } },
  { id: "stone", text: "granite quarry", meta: { year: 2003, lang: "de", tags: [] } },
];

describe("retrieve finds what was added", () => {
  test.each(MODES)("%s: the document with the query's words comes first", async (mode) => {
    const caller = tenant();
    await caller.add(FRUIT);
    expect((await caller.ids({ query: "apple", mode }))[0]).toBe("apple");
    expect((await caller.ids({ query: "granite quarry", mode }))[0]).toBe("stone");
  });

  test("sparse finds only chunks with a term of the query; dense ranks every chunk", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    expect(await caller.ids({ query: "orchard", mode: "sparse" })).toEqual(expect.arrayContaining(["apple", "pear"]));
    expect(await caller.ids({ query: "orchard", mode: "sparse" })).toHaveLength(2);
    expect(await caller.ids({ query: "orchard", mode: "dense" })).toHaveLength(3);
  });

  test("sparse scores are BM25 of this tenant's corpus", async () => {
    const caller = tenant();
    await caller.add(
      [
        { id: "a", text: "apple apple orchard" },
        { id: "b", text: "pear orchard" },
        { id: "c", text: "granite" },
      ],
      {},
    );
    // N = 3, average length 2; "apple": df 1, tf 2, length 3
    const idf = Math.log(1 + (3 - 1 + 0.5) / (1 + 0.5));
    const expected = (idf * 2 * 2.2) / (2 + 1.2 * (1 - 0.75 + 0.75 * (3 / 2)));
    const [hit] = await caller.hits({ query: "apple", mode: "sparse" });
    expect(hit?.score).toBeCloseTo(expected, 10);
    expect(hit?.scores).toEqual({ sparse: hit?.score });
  });

  test("another tenant's documents change neither hits nor scores", async () => {
    const [one, other] = [tenant(), tenant()];
    await one.add(FRUIT);
    const before = await one.hits({ query: "apple orchard" });
    await other.add(Array.from({ length: 30 }, (_, n) => ({ id: `x${n}`, text: "apple orchard apple" })));
    expect(await one.hits({ query: "apple orchard" })).toEqual(before);
  });

  test("a corpus that was never written answers with no hits", async () => {
    expect(await tenant().retrieve({ query: "apple" })).toMatchObject({ hits: [] });
  });

  test("an empty query has no hits and says so", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    const result = await caller.retrieve({ query: " " });
    expect(result.hits).toEqual([]);
    expect(result.usage.notes).toEqual(["the query is empty"]);
  });
});

describe("filters apply in every mode", () => {
  test.each(MODES)("%s", async (mode) => {
    const caller = tenant();
    await caller.add(FRUIT);
    const query = "orchard granite";
    const ids = async (filter: object) => (await caller.ids({ query, mode, filter })).sort();
    expect(await ids({ field: "lang", op: "eq", value: "en" })).toEqual(["apple", "pear"]);
    expect(await ids({ field: "tags", op: "contains", value: "red" })).toEqual(["apple"]);
    expect(
      await ids({
        and: [{ field: "year", op: "gte", value: 2002 }, { not: { field: "tags", op: "in", value: ["fruit"] } }],
      }),
    ).toEqual(["stone"]);
    expect(await ids({ field: "score", op: "exists", value: true })).toEqual([]);
  });

  test("typed columns keep every kind of value", async () => {
    const caller = tenant();
    await caller.add([
      {
        id: "a",
        text: "x",
        meta: {
          year: 9007199254740991,
          score: 1e308,
          live: true,
          at: "2023-05-01T02:00:00+02:00",
          tags: ["a'b", 'q"{},\\', ""],
        },
      },
      { id: "b", text: "x", meta: { year: null, score: 5e-324, live: false, at: 0 } },
    ]);
    const one = async (filter: object) => await caller.ids({ query: "x", mode: "dense", filter });
    expect(await one({ field: "year", op: "eq", value: 9007199254740991 })).toEqual(["a"]);
    expect(await one({ field: "score", op: "gt", value: 1e307 })).toEqual(["a"]);
    expect(await one({ field: "score", op: "lt", value: 1 })).toEqual(["b"]);
    expect(await one({ field: "live", op: "eq", value: false })).toEqual(["b"]);
    expect(await one({ field: "at", op: "eq", value: "2023-05-01" })).toEqual(["a"]);
    expect(await one({ field: "at", op: "eq", value: "1970-01-01T00:00:00Z" })).toEqual(["b"]);
    for (const value of ["a'b", 'q"{},\\', ""])
      expect(await one({ field: "tags", op: "contains", value })).toEqual(["a"]);
    expect(await one({ field: "tags", op: "exists", value: false })).toEqual(["b"]);
  });

  test("a filter does not change BM25's statistics", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    const [all] = await caller.hits({ query: "apple", mode: "sparse" });
    const [filtered] = await caller.hits({
      query: "apple",
      mode: "sparse",
      filter: { field: "lang", op: "eq", value: "en" },
    });
    expect(filtered?.score).toBe(all?.score);
  });
});

describe("a write replaces what the id had", () => {
  test("an upsert leaves one document, its new text and its new meta", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    await caller.add([{ id: "apple", text: "zebra savanna", meta: { year: 1900 } }]);
    expect(await caller.ids({ query: "apple", mode: "sparse" })).toEqual([]);
    const [hit] = await caller.hits({ query: "zebra", mode: "sparse" });
    expect(hit).toMatchObject({ id: "apple", text: "zebra savanna", meta: { year: 1900 } });
    expect(await caller.ids({ query: "x", mode: "dense", k: 100 })).toHaveLength(3);
  });

  test("statistics after upserts and deletes are those of a corpus that never had the old rows", async () => {
    const [churned, fresh] = [tenant(), tenant()];
    await churned.add([...FRUIT, { id: "gone", text: "apple orchard pear" }]);
    await churned.add([{ id: "stone", text: "basalt" }]);
    await churned.add([FRUIT[2] ?? {}]);
    expect(await churned.delete(["gone", "never-there"])).toBe(1);
    await fresh.add(FRUIT);
    const scores = async (caller: Caller) =>
      (await caller.hits({ query: "apple orchard granite" })).map((hit) => [hit.id, hit.score, hit.scores]);
    expect(await scores(churned)).toEqual(await scores(fresh));
  });

  test("an id sent twice in one call keeps its last document, and ids come back in the order sent", async () => {
    const caller = tenant();
    const { ids } = await caller.add([
      { id: "a", text: "first" },
      { id: "b", text: "other" },
      { id: "a", text: "second" },
    ]);
    expect(ids).toEqual(["a", "b", "a"]);
    expect(await caller.ids({ query: "first second", mode: "sparse" })).toEqual(["a"]);
    expect((await caller.hits({ query: "second", mode: "sparse" }))[0]?.text).toBe("second");
  });

  test("ids are minted when absent, each its own", async () => {
    const { ids } = await tenant().add([{ text: "one" }, { id: null, text: "two" }]);
    expect(new Set(ids).size).toBe(2);
    expect(ids.every((id) => id.length > 10)).toBe(true);
  });

  test("deleting is idempotent and counts only what this call removed", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    expect(await caller.delete(["apple", "apple", "nobody"])).toBe(1);
    expect(await caller.delete(["apple"])).toBe(0);
    expect(await caller.delete([])).toBe(0);
    expect(await caller.ids({ query: "orchard", mode: "sparse" })).toEqual(["pear"]);
  });
});

describe("a pinned version (RCP §7.7.1)", () => {
  test.each(MODES)("%s: answers as it did then, scores included", async (mode) => {
    const caller = tenant();
    await caller.add(FRUIT);
    const then = await caller.retrieve({ query: "apple orchard", mode });
    await caller.add([
      { id: "apple", text: "nothing of that" },
      { id: "new", text: "apple orchard apple" },
    ]);
    await caller.delete(["pear"]);
    const again = await caller.retrieve({ query: "apple orchard", mode, indexVersion: then.indexVersion });
    expect(again.hits).toEqual(then.hits);
    expect(again.indexVersion).toBe(then.indexVersion);
    expect((await caller.retrieve({ query: "apple orchard", mode })).indexVersion).not.toBe(then.indexVersion);
  });

  test("an unknown version and another tenant's give one answer", async () => {
    const [one, other] = [tenant(), tenant()];
    await one.add(FRUIT);
    const { indexVersion } = await one.retrieve({ query: "apple" });
    await other.add(FRUIT);
    const refusal = { code: -32010, data: { retryable: false } };
    await expect(other.retrieve({ query: "apple", indexVersion })).rejects.toMatchObject(refusal);
    await expect(other.retrieve({ query: "apple", indexVersion: "no-such-version" })).rejects.toMatchObject(refusal);
    await expect(tenant().retrieve({ query: "apple", indexVersion: "0'; select 1" })).rejects.toMatchObject(refusal);
  });
});

describe("long documents", () => {
  const sentence = (n: number) => `Sentence number ${n} speaks of topic${n} at some length \u{1F600}.`;
  const long = Array.from({ length: 60 }, (_, n) => sentence(n)).join(" ");
  const chunked = { ...config, indexing: { chunkTokens: 48, overlapTokens: 8 } };

  test("are cut into chunks whose offsets, in code points, give their text", async () => {
    const caller = tenant({ config: chunked });
    const { chunks } = await caller.add([{ id: "long", text: long }]);
    expect(chunks).toBeGreaterThan(3);
    const [hit] = await caller.hits({ query: "topic41", mode: "sparse" });
    expect(hit?.chunk.docId).toBe("long");
    expect(hit?.id).toBe(`long#${hit?.chunk.index}`);
    expect(hit?.text).toContain("topic41");
    expect([...long].slice(hit?.citation.start, hit?.citation.end).join("")).toBe(hit?.text);
  });

  test("chunk: false keeps one chunk with the document's own id", async () => {
    const caller = tenant({ config: chunked });
    expect((await caller.add([{ id: "long", text: long }], { chunk: false })).chunks).toBe(1);
    expect(await caller.ids({ query: "topic41", mode: "sparse" })).toEqual(["long"]);
  });

  test("the title is read with every chunk and is no part of its text", async () => {
    const caller = tenant({ config: chunked });
    await caller.add([{ id: "long", text: long, meta: { title: "Zanzibar", uri: "https://example.com/z" } }]);
    const hits = await caller.hits({ query: "Zanzibar", mode: "sparse", k: 100 });
    expect(hits.length).toBeGreaterThan(3);
    expect(hits[0]?.text).not.toContain("Zanzibar");
    expect(hits[0]?.citation).toMatchObject({ title: "Zanzibar", uri: "https://example.com/z", source: "api" });
  });

  test("replacing a document of many chunks by one of a few leaves none of the old", async () => {
    const caller = tenant({ config: chunked });
    await caller.add([{ id: "long", text: long }]);
    await caller.add([{ id: "long", text: "short" }]);
    expect(await caller.ids({ query: "topic41 short", mode: "dense", k: 100 })).toEqual(["long"]);
  });
});

describe("what a hit shows", () => {
  test("text and vectors only when asked for", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    const [bare] = await caller.hits({ query: "apple", includeText: false });
    expect(bare).not.toHaveProperty("text");
    expect(bare).not.toHaveProperty("vector");
    const [full] = await caller.hits({ query: "apple", includeVectors: true });
    expect(full?.text).toBe("apple apple orchard");
    expect(Math.hypot(...(full?.vector ?? []))).toBeCloseTo(1, 2);
  });

  test("trust is the credential's, and meta can only lower it", async () => {
    const level = async (ceiling: "trusted" | "untrusted", meta: object) => {
      const caller = tenant({ principal: { trustCeiling: ceiling, source: "crawler" } });
      await caller.add([{ id: "d", text: "word", meta }]);
      const [hit] = await caller.hits({ query: "word" });
      expect(hit?.citation.source).toBe("crawler");
      return hit?.trust.level;
    };
    expect(await level("untrusted", { trust: { level: "trusted" } })).toBe("untrusted");
    expect(await level("trusted", {})).toBe("trusted");
    expect(await level("trusted", { trust: { level: "community" } })).toBe("community");
  });

  test("text, id and meta come back byte for byte", async () => {
    const caller = tenant();
    const id = "a/b c\u200b\u{1F600}'\"\\";
    const text = "e\u0301 \r\n\t\u2028 caf\u00e9 \\x00 $1 %s ";
    const meta = { ключ: ["\u212b", 1.5, null, { deep: [true] }], z: 1, a: 2 };
    await caller.add([{ id, text, meta }]);
    const [hit] = await caller.hits({ query: "caf\u00e9", mode: "dense" });
    expect(hit?.id).toBe(id);
    expect(hit?.text).toBe(text);
    expect(JSON.stringify(hit?.meta)).toBe(JSON.stringify(meta));
  });

  test("U+0000 in a text is stored as U+FFFD and noted", async () => {
    const caller = tenant();
    const { _meta } = await caller.add([{ id: "n", text: "left\u0000right" }]);
    expect(_meta.notes).toEqual(["documents[0].text: U+0000 was stored as U+FFFD"]);
    expect((await caller.hits({ query: "left", mode: "dense" }))[0]?.text).toBe("left\uFFFDright");
  });

  test("k, minScore and candidateK hold", async () => {
    const caller = tenant();
    await caller.add(FRUIT);
    expect(await caller.ids({ query: "orchard", mode: "dense", k: 1 })).toHaveLength(1);
    const [best] = await caller.hits({ query: "orchard", mode: "dense" });
    expect(await caller.ids({ query: "orchard", mode: "dense", minScore: best?.score })).toHaveLength(1);
    expect(await caller.ids({ query: "orchard", minScore: 1e308 })).toEqual([]);
    expect((await caller.retrieve({ query: "orchard", k: 1, candidateK: 2, mode: "dense" })).usage.candidates).toBe(2);
  });

  test("equal scores are ordered by document id in UTF-8 order, whatever the order of writing", async () => {
    const caller = tenant();
    for (const id of ["b", "\u{1F600}", "a", "\uFF5E", "B"]) await caller.add([{ id, text: "same words" }]);
    const expected = ["B", "a", "b", "\uFF5E", "\u{1F600}"];
    for (const mode of MODES) expect(await caller.ids({ query: "same", mode })).toEqual(expected);
    expect(await caller.ids({ query: "same", mode: "sparse", k: 2, candidateK: 2 })).toEqual(["B", "a"]);
  });
});

test("one bad document refuses the call and nothing is written", async () => {
  const caller = tenant();
  await expect(caller.add([{ id: "a", text: "apple" }, { id: "b" }])).rejects.toMatchObject({
    code: -32602,
    data: { field: "documents[1].text" },
  });
  await expect(
    caller.add([
      { id: "a", text: "apple" },
      { id: "b", text: "b", meta: { year: "x" } },
    ]),
  ).rejects.toMatchObject({
    code: -32602,
    data: { field: "documents[1].meta.year" },
  });
  expect(await caller.ids({ query: "apple" })).toEqual([]);
});

test("concurrent writers of one corpus lose nothing", async () => {
  const caller = tenant();
  await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      caller.add([
        { id: `d${n}`, text: `shared word${n}` },
        { id: "same", text: `shared last${n}` },
      ]),
    ),
  );
  expect(await caller.ids({ query: "shared", mode: "sparse", k: 100 })).toHaveLength(13);
});

test("with autoCreate off a write needs a tenant that was made, and makes its default corpus", async () => {
  const tenantId = freshTenant();
  const caller = callerOf(opened.database, tenantId, { config: { ...config, tenants: { autoCreate: false } } });
  await expect(caller.add(FRUIT)).rejects.toMatchObject({ code: -32012 });
  await opened.operator.write((transaction) => transaction.query(createTenant(tenantId)));
  await caller.add(FRUIT);
  expect((await caller.ids({ query: "apple" }))[0]).toBe("apple");
});

test("a corpus made meanwhile with other settings is not written with the wrong ones", async () => {
  const tenantId = freshTenant();
  const german = callerOf(opened.database, tenantId, {
    config: { ...config, indexing: { defaultLanguage: "german" } },
  });
  await german.add(FRUIT);
  const before = await german.hits({ query: "apple" });
  const { offer, embedding } = german.services;
  const stale: Corpus = {
    tenantId,
    name: DEFAULT_CORPUS,
    language: "english",
    space: embedding.space,
    screening: "flag",
    placement: "shared",
  };
  const context = {
    database: opened.database,
    embedding,
    limits: { signal: new AbortController().signal, remainingMs: () => 30_000 },
    by: {
      ...accessTo(tenantId),
      ...{ source: "s", issuer: "i", subject: "u", tokenId: undefined, trustCeiling: "untrusted" as const },
    },
    fields: offer.add.fields,
    ...configSchema.parse({}).indexing,
    classifier: undefined,
    observe: () => {},
    contexts: undefined,
    fetch: undefined,
    create: "corpus" as const,
    quotas: { documents: null, textBytes: null },
    once: undefined,
  };
  const plan = planAdd({ documents: [{ id: "apple", text: "running" }] }, offer.add);
  await expect(addDocuments(plan, stale, context)).rejects.toMatchObject({ code: -32016 });
  const refusing: Corpus = { ...stale, language: "german", screening: "refuse" };
  await expect(addDocuments(plan, refusing, context)).rejects.toMatchObject({ code: -32016 });
  const other = { ...stale, language: "german", space: { identity: "another@32", dimension: 32 } };
  await expect(
    addDocuments(plan, other, { ...context, embedding: { ...embedding, space: other.space } }),
  ).rejects.toMatchObject({ code: -32010 });
  expect(await german.hits({ query: "apple" })).toEqual(before);
});

test("an unknown corpus is not authorised, for reading and for writing", async () => {
  const caller = tenant({ corpus: "elsewhere" });
  await expect(caller.retrieve({ query: "x" })).rejects.toMatchObject({ code: -32012 });
  await expect(caller.add(FRUIT)).rejects.toMatchObject({ code: -32012 });
  await expect(caller.delete(["a"])).rejects.toMatchObject({ code: -32012 });
});
