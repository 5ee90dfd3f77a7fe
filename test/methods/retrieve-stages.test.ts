import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Reranker } from "../../src/models/reranker.ts";
import type { Prompt, TextGenerator } from "../../src/models/text-generator.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import type { Hit, Progress, RetrieveResult } from "../../src/protocol/wire.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

/** What a retrieve does beyond recall (RCP §7.7), on a real database. The test model counts two special tokens for each text. */

const FIELDS = { at: "date" } as const;
const config = { filter: { fields: FIELDS }, indexing: { chunkTokens: 16, overlapTokens: 0 } };

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(FIELDS) });
});
afterAll(() => opened.close());

const tenant = (options: Parameters<typeof callerOf>[2] = {}) =>
  callerOf(opened.database, freshTenant(), { config, ...options });

const ids = ({ hits }: RetrieveResult) => hits.map(({ id }) => id);

/** A sentence of 14 words, about as much as a chunk holds. */
const sentence = (word: string) => `${word} `.repeat(13).concat(`${word}.`);
const LONG = {
  id: "long",
  text: `${sentence("slate")} ${sentence("apple")} ${sentence("basalt")} `,
  meta: { title: "Stones" },
};

const best = (hit: Hit | undefined) => ({ score: hit?.score, chunk: hit?.chunk });

describe("unit document", () => {
  const FRUIT = { id: "fruit", text: "apple orchard" };

  test("gives each document once, whole, at the place of its best chunk", async () => {
    const caller = tenant();
    await caller.add([LONG, FRUIT]);
    const question = { query: "slate basalt apple", mode: "sparse" };
    const chunks = await caller.hits(question);
    expect(chunks.filter(({ chunk }) => chunk.docId === "long").length).toBeGreaterThan(2);

    const { hits, usage } = await caller.retrieve({ ...question, unit: "document" });

    expect(hits.map(({ id, unit, text }) => [id, unit, text])).toEqual(
      expect.arrayContaining([
        ["long", "document", LONG.text],
        ["fruit", "document", FRUIT.text],
      ]),
    );
    expect(hits).toHaveLength(2);
    for (const { id, score, chunk } of hits)
      expect({ score, chunk }).toEqual(best(chunks.find((one) => one.chunk.docId === id)));
    const long = hits.find(({ id }) => id === "long");
    expect(long?.citation).toEqual({ source: "api", title: "Stones", start: 0, end: LONG.text.length });
    expect(usage).toMatchObject({ candidates: chunks.length, strategy: { unit: "document" } });
  });

  test("counts offsets in code points, and needs no text for them", async () => {
    const caller = tenant();
    await caller.add([{ id: "d", text: "apple \u{1f34e} " }]);
    const [hit] = await caller.hits({ query: "apple", unit: "document", includeText: false });
    expect(hit).toMatchObject({ id: "d", citation: { start: 0, end: 8 } });
    expect(hit).not.toHaveProperty("text");
  });

  test("shows a document id that ends like a chunk's with a #0, so that the last #n can always be taken off", async () => {
    const caller = tenant();
    await caller.add([{ id: "issue#42", text: "apple" }]);
    expect(await caller.ids({ query: "apple", unit: "document" })).toEqual(["issue#42#0"]);
  });
});

describe("tokenBudget", () => {
  const three = [
    { id: "a", text: "apple apple apple" },
    { id: "b", text: "apple pear pear pear" },
    { id: "c", text: "apple pear plum plum plum plum" },
  ];
  const question = { query: "apple", mode: "dense" };

  test("packs as many hits as fit, and says how many tokens they are", async () => {
    const caller = tenant();
    await caller.add(three);
    const whole = await caller.retrieve(question);
    expect(ids(whole)).toEqual(["a", "b", "c"]);
    expect(whole.usage).not.toHaveProperty("tokens");

    // 3 + 2, 4 + 2 and 6 + 2 tokens
    for (const [tokenBudget, expected, tokens] of [
      [5, ["a"], 5],
      [10, ["a"], 5],
      [11, ["a", "b"], 11],
      [19, ["a", "b", "c"], 19],
      [Number.MAX_SAFE_INTEGER, ["a", "b", "c"], 19],
    ] as const) {
      const result = await caller.retrieve({ ...question, tokenBudget });
      expect(result.hits).toEqual(whole.hits.slice(0, expected.length));
      expect(result.usage.tokens).toBe(tokens);
    }
  });

  test("binds together with k, whichever is first", async () => {
    const caller = tenant();
    await caller.add(three);
    expect(ids(await caller.retrieve({ ...question, k: 1, tokenBudget: 11 }))).toEqual(["a"]);
  });

  test("leaves nothing when the first hit alone is over it, and says so", async () => {
    const caller = tenant();
    await caller.add(three);
    const { hits, usage } = await caller.retrieve({ ...question, tokenBudget: 4 });
    expect(hits).toEqual([]);
    expect(usage).toMatchObject({ tokens: 0, notes: ["the first hit has 5 tokens, more than tokenBudget"] });
  });

  test("counts bodies that are not shown, too", async () => {
    const caller = tenant();
    await caller.add(three);
    const { hits, usage } = await caller.retrieve({ ...question, tokenBudget: 11, includeText: false });
    expect(hits.map(({ id, text }) => [id, text])).toEqual([
      ["a", undefined],
      ["b", undefined],
    ]);
    expect(usage.tokens).toBe(11);
  });

  test("of whole documents", async () => {
    const caller = tenant();
    await caller.add([LONG]);
    const { usage } = await caller.retrieve({ query: "slate", unit: "document", tokenBudget: 100 });
    expect(usage.tokens).toBe(42 + 2);
  });
});

describe("mmr", () => {
  test("puts another text before a twin of the first, in every mode, and keeps the scores", async () => {
    const caller = tenant();
    await caller.add([
      { id: "a", text: "apple pear" },
      { id: "b", text: "pear apple" },
      { id: "c", text: "apple slate slate slate" },
    ]);
    for (const mode of ["dense", "sparse", "hybrid"]) {
      const plain = await caller.retrieve({ query: "apple pear", mode });
      const diverse = await caller.retrieve({ query: "apple pear", mode, mmr: { lambda: 0.3 } });
      expect(ids(plain)).toEqual(["a", "b", "c"]);
      expect(ids(diverse)).toEqual(["a", "c", "b"]);
      expect(diverse.hits.toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual(plain.hits);
      expect(diverse.usage.strategy).toMatchObject({ mmr: 0.3 });
    }
  });
});

describe("recency", () => {
  const DAY = 86_400_000;
  const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString();

  test("halves a score with each half-life between the document's date and the version", async () => {
    const caller = tenant();
    await caller.add([
      { id: "new", text: "apple pear", meta: { at: ago(0) } },
      { id: "old", text: "apple pear", meta: { at: ago(10) } },
      { id: "older", text: "apple pear", meta: { at: ago(20) } },
      { id: "undated", text: "apple pear" },
    ]);
    const recency = { field: "at", halfLifeDays: 10 };
    const { hits } = await caller.retrieve({ query: "apple pear", mode: "dense", recency });
    const expected = [
      ["new", 1],
      ["old", 0.5],
      ["older", 0.25],
      ["undated", 0.25],
    ] as const;
    expect(hits.map(({ id }) => id)).toEqual(expected.map(([id]) => id));
    // Half-precision vectors, and the milliseconds until the write was committed.
    for (const [index, [, score]] of expected.entries()) expect(hits[index]?.score).toBeCloseTo(score, 3);
    for (const { scores } of hits) expect(scores.dense).toBeCloseTo(1, 3);
  });

  test("a version's answer is the same on another day, and minScore judges the decayed score", async () => {
    const caller = tenant();
    await caller.add([
      { id: "new", text: "apple", meta: { at: ago(1) } },
      { id: "old", text: "apple", meta: { at: ago(60) } },
    ]);
    const question = { query: "apple", recency: { field: "at", halfLifeDays: 30 } };
    const first = await caller.retrieve(question);
    await caller.add([{ id: "later", text: "apple", meta: { at: ago(0) } }]);
    const again = await caller.retrieve({ ...question, indexVersion: first.indexVersion });
    expect(again.hits).toEqual(first.hits);
    expect(await caller.ids({ ...question, mode: "dense", minScore: 0.5 })).toEqual(["later", "new"]);
  });
});

/** Likes passages that say "plum", and then short ones. */
function plumLover(maxCandidates = 100) {
  const passages: string[] = [];
  const reranker: Reranker = {
    identity: "plum-lover",
    method: "cross-encoder",
    maxCandidates,
    async score(_query, texts) {
      passages.push(...texts);
      return texts.map((text) => (text.includes("plum") ? 10 : 0) - text.length / 100);
    },
    async close() {},
  };
  return { reranker, passages };
}

describe("rerank", () => {
  const documents = [
    { id: "a", text: "apple", meta: { title: "First" } },
    { id: "b", text: "apple pear" },
    { id: "c", text: "apple plum" },
  ];
  const question = { query: "apple", mode: "dense" };

  test("scores candidates anew by title and text, and shows both scores", async () => {
    const { reranker, passages } = plumLover();
    const caller = tenant({ reranker });
    await caller.add(documents);
    const { hits, usage } = await caller.retrieve({ ...question, rerank: { method: "cross-encoder" } });
    expect(hits.map(({ id, score, scores }) => [id, score, scores.rerank])).toEqual([
      ["c", 9.9, 9.9],
      ["b", -0.1, -0.1],
      ["a", -0.11, -0.11],
    ]);
    expect(hits.every(({ scores }) => scores.dense !== undefined)).toBe(true);
    expect(passages).toContain("First\napple");
    expect(usage).toMatchObject({ candidates: 3, reranked: 3, strategy: { rerank: 100 } });
  });

  test("only the best topN are scored, and no other is a hit", async () => {
    const { reranker } = plumLover();
    const caller = tenant({ reranker });
    await caller.add(documents);
    const best = ids(await caller.retrieve({ ...question, k: 2 }));
    const { hits, usage } = await caller.retrieve({ ...question, k: 1, rerank: { topN: 2 } });
    expect(usage.reranked).toBe(2);
    expect(best).toContain(hits[0]?.id);
  });

  test("reads how a chunk begins that is a whole long document", async () => {
    const { reranker, passages } = plumLover();
    const caller = tenant({ reranker });
    await caller.add([{ id: "long", text: "plum ".repeat(10_000) }], { chunk: false });
    await caller.retrieve({ query: "plum", rerank: {} });
    expect(passages).toEqual(["plum ".repeat(6_400)]);
  });

  test("no more than the reranker takes", async () => {
    const { reranker } = plumLover(2);
    const caller = tenant({ reranker });
    await caller.add(documents);
    const { hits, usage } = await caller.retrieve({ ...question, rerank: {} });
    expect([hits.length, usage.reranked]).toEqual([2, 2]);
  });

  test("minScore judges the reranker's score", async () => {
    const caller = tenant({ reranker: plumLover().reranker });
    await caller.add(documents);
    expect(await caller.ids({ ...question, rerank: {}, minScore: 1 })).toEqual(["c"]);
  });

  test("a whole document is judged by its best chunk", async () => {
    const { reranker, passages } = plumLover();
    const caller = tenant({ reranker });
    await caller.add([LONG]);
    const [chunk] = await caller.hits({ query: "basalt", k: 1 });
    expect(await caller.ids({ query: "basalt", unit: "document", rerank: {} })).toEqual(["long"]);
    expect(chunk?.text).toMatch(/^basalt/);
    expect(passages).toEqual([`Stones\n${chunk?.text}`]);
  });

  test("a caller that wants the same again is told that another service was asked", async () => {
    const caller = tenant({ reranker: plumLover().reranker });
    await caller.add(documents);
    const { usage } = await caller.retrieve({ ...question, rerank: {}, seed: 1 });
    expect(usage.notes).toEqual([expect.stringContaining("another service")]);
    expect((await caller.retrieve({ ...question, seed: 1 })).usage).not.toHaveProperty("notes");
  });

  test("declined, or in an empty corpus, nobody is asked", async () => {
    const { reranker, passages } = plumLover();
    const caller = tenant({ reranker });
    expect(await caller.ids({ ...question, rerank: {} })).toEqual([]);
    await caller.add(documents);
    await caller.retrieve({ ...question, rerank: false });
    await caller.retrieve({ query: " ", rerank: {} });
    expect(passages).toEqual([]);
  });
});

describe("rewrite", () => {
  const documents = [
    { id: "a", text: "apple" },
    { id: "b", text: "pear" },
    { id: "c", text: "slate" },
  ];

  function writer(answer: string) {
    const prompts: Prompt[] = [];
    const generator: TextGenerator = {
      identity: "writer",
      async generate(prompt) {
        prompts.push(prompt);
        return answer;
      },
      async close() {},
    };
    return { generator, prompts };
  }

  test("a query written anew stands in the query's place", async () => {
    const caller = tenant({ generator: writer("pear").generator });
    await caller.add(documents);
    const result = await caller.retrieve({ query: "appel", mode: "sparse", rewrite: "rewrite" });
    expect(ids(result)).toEqual(["b"]);
    expect(result).toMatchObject({ rewrittenQuery: "pear", usage: { strategy: { rewrite: "rewrite" } } });
  });

  test("queries in other words stand beside it, fused by rank", async () => {
    const caller = tenant({ generator: writer("pear\napple slate\npear").generator });
    await caller.add(documents);
    const result = await caller.retrieve({ query: "apple", mode: "sparse", rewrite: "multi-query" });
    // apple: 1/61 + 1/61 or 1/62; pear: 1/61; slate: 1/62 or 1/61
    expect(ids(result)[0]).toBe("a");
    expect(ids(result).sort()).toEqual(["a", "b", "c"]);
    expect(result.hits[0]?.score).toBeGreaterThan(1 / 61);
    expect(result.rewrittenQuery).toBe("pear\napple slate");
  });

  test("all queries read one version, whatever is written between them", async () => {
    const tenantId = freshTenant();
    const writerOf = callerOf(opened.database, tenantId, { config });
    await writerOf.add(documents);
    const model = testEmbeddingModel();
    let asked = 0;
    const embed: typeof model.embed = async (texts, kind, signal) => {
      if (kind === "query" && ++asked === 2) await writerOf.add([{ id: "late", text: "pear pear" }]);
      return await model.embed(texts, kind, signal);
    };
    const { generator } = writer("pear");
    const caller = callerOf(opened.database, tenantId, { config, generator, embedding: { ...model, embed } });
    const result = await caller.retrieve({ query: "apple", mode: "dense", rewrite: "multi-query" });
    expect(asked).toBe(2);
    expect(ids(result).sort()).toEqual(["a", "b", "c"]);
  });

  test("hyde: the passage is embedded in the query's place, words are the query's own", async () => {
    const caller = tenant({ generator: writer("slate").generator });
    await caller.add(documents);
    const question = { query: "apple", rewrite: "hyde", k: 1 };
    expect(await caller.ids({ ...question, mode: "dense" })).toEqual(["c"]);
    expect(await caller.ids({ ...question, mode: "sparse" })).toEqual(["a"]);
  });

  test("declined or blank, nobody is asked", async () => {
    const { generator, prompts } = writer("pear");
    const caller = tenant({ generator });
    await caller.add(documents);
    expect(await caller.retrieve({ query: "apple", rewrite: false })).not.toHaveProperty("rewrittenQuery");
    await caller.retrieve({ query: " ", rewrite: "hyde" });
    expect(prompts).toEqual([]);
  });
});

describe("progress", () => {
  const documents = [
    { id: "a", text: "apple" },
    { id: "b", text: "apple plum" },
  ];

  test("each stage is told once it has ended, with the candidates' order as it was before the reranker", async () => {
    const told: Progress[] = [];
    const { reranker } = plumLover();
    const caller = tenant({ reranker, report: (progress) => told.push(progress) });
    await caller.add(documents);

    const { hits } = await caller.retrieve({ query: "apple", rerank: {}, mmr: {} });

    expect(told.map(({ stage }) => stage)).toEqual(["recall", "fuse", "rerank", "diversify", "pack"]);
    expect(told.map(({ progress }) => progress)).toEqual([0.4, 0.5, 0.8, 0.9, 1]);
    expect(hits.map(({ id }) => id)).toEqual(["b", "a"]);
    const [first, ...others] = told;
    expect(first?.partial?.hits.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(first?.partial?.hits[0]).toMatchObject({ text: "apple", unit: "chunk" });
    expect(others.some((one) => "partial" in one)).toBe(false);
  });

  test("an answer is the same whether somebody listens or not", async () => {
    const tenantId = freshTenant();
    const quiet = callerOf(opened.database, tenantId, { config });
    const heard = callerOf(opened.database, tenantId, { config, report: () => {} });
    await quiet.add(documents);
    expect((await heard.retrieve({ query: "plum" })).hits).toEqual((await quiet.retrieve({ query: "plum" })).hits);
  });
});
