import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Corpus, CorpusName } from "../../src/catalog/corpus.ts";
import { FILTER_OPERATORS, resolveFilter } from "../../src/plan/resolve-filter.ts";
import { createCorpus, findCorpus } from "../../src/sql/corpora.ts";
import * as write from "../../src/sql/documents.ts";
import * as ranked from "../../src/sql/ranked-chunks.ts";
import * as recall from "../../src/sql/recall.ts";
import { postingsOfTerms } from "../../src/sql/recall-sparse.ts";
import { compile, type Statement, sql } from "../../src/sql/sql.ts";
import { createTenant } from "../../src/sql/tenants.ts";
import type { ReadPoint } from "../../src/sql/visible.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { EVERY_FIELD, FILTER_LIMITS } from "../support/every-field.ts";
import { papersOf } from "./papers.ts";

/** What the statements of writing and of recall do on the migrated database, as the logins that run them. */

const FIELDS = [...EVERY_FIELD.values()];
const EAST = Float32Array.of(1, 0);
const since2000 = resolveFilter(
  { field: "year", op: "gte", value: 2000 },
  EVERY_FIELD,
  FILTER_OPERATORS,
  FILTER_LIMITS,
);
if (since2000 === undefined) throw new Error("the filter is absent");

const CORPUS = papersOf("acme");
/** Has the same ids, chunk numbers and version tokens, and other rows. */
const NEIGHBOUR = papersOf("globex");

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: EVERY_FIELD });
  await makeHistory(CORPUS, 2000);
  await makeHistory(NEIGHBOUR, 1000);
});
afterAll(() => opened.close());

const limits = () => ({ signal: new AbortController().signal, timeoutMs: 20_000 });
const BY = { source: "api", issuer: "iss", subject: "sub", tokenId: undefined };

const document = (docId: string, body: string, chunkCount: number): write.DocumentRow => ({
  docId,
  body,
  title: chunkCount === 0 ? null : `title of ${docId}`,
  uri: null,
  language: null,
  trust: "community",
  injectionSuspected: chunkCount === 0,
  quarantined: chunkCount === 0,
  meta: '{"b":1, "a":2}',
  chunkCount,
  textBytes: Buffer.byteLength(body),
  contexts: null,
});

/** A fingerprint of so many ones. */
const ones = (count: number) => "1".repeat(count).padEnd(128, "0");

interface ChunkOf {
  readonly ordinal?: number;
  readonly at?: readonly [start: number, end: number];
  readonly year?: number;
}
const chunk = (
  chunkNo: number,
  docId: string,
  embedding: string,
  { ordinal = 0, at = [0, 5], year }: ChunkOf = {},
) => ({
  chunkNo,
  docId,
  ordinal,
  terms: 3,
  start: at[0],
  end: at[1],
  fingerprint: ones(16 * chunkNo),
  embedding,
  fields: new Map(year === undefined ? [] : [["year", year]]),
});

/**
 * Version 1 adds `a` (chunk 0), `B` (chunk 1) and `b` (chunks 2 and 3); version 2 deletes `a`; version 3 replaces `B` (chunk 4)
 * and adds `c`, which is quarantined.
 *
 * @param year of `a`; the first `B` is a year older than 2000, the second has `year` + 5
 */
async function makeHistory(corpus: Corpus, year: number): Promise<void> {
  const key = { tenantId: corpus.tenantId, corpus: corpus.name };
  const version = (number: number, action: "add" | "delete", liveChunks: number, nextChunk: number) => ({
    counters: {
      version: number,
      nextChunk,
      liveDocuments: 3,
      liveTextBytes: 7,
      liveChunks,
      liveLength: 3 * liveChunks,
    },
    token: `v${number}`,
    action,
    documents: 1,
    ...BY,
  });
  const text = "\u{1F600} amber basalt";
  await opened.database.write("adder", accessTo(corpus.tenantId), limits(), async ({ query }) => {
    await query(createTenant(corpus.tenantId));
    await query(createCorpus(corpus));
    const situated = { ...document("b", text, 2), contexts: ["", 'about {"basalt"} \u{1F600}'] };
    const documents = [document("a", text, 1), document("B", text, 1), situated];
    await query(write.insertDocuments(key, 1, BY, documents));
    await query(write.insertTexts(key, 1, documents));
    const chunks = [
      chunk(0, "a", "[1,0]", { year }),
      chunk(1, "B", "[0,1]", { year: 1999 }),
      chunk(2, "b", "[1,0]", { at: [0, 7] }),
      chunk(3, "b", "[1,0]", { ordinal: 1, at: [8, 14] }),
    ];
    await query(write.insertChunks(key, "shared", 1, FIELDS, chunks));
    await query(write.advanceCorpus(key, version(1, "add", 4, 4)));
    await query(write.recordVersion(key, version(1, "add", 4, 4)));
  });
  await opened.database.write("deleter", accessTo(corpus.tenantId), limits(), async ({ query }) => {
    expect(await query(write.lockCorpus(key))).toMatchObject([
      { version: 1, nextChunk: 4, liveChunks: 4, liveLength: 12 },
    ]);
    expect(await query(write.closeDocuments(key, ["a", "never"], 2))).toEqual([17]);
    expect(await query(write.closeDocuments(key, ["a"], 2))).toEqual([]);
    expect(await query(write.closeChunks(key, { placement: "shared" }, ["a", "never"], 2))).toEqual([
      { chunks: 1, length: 3 },
    ]);
    expect(await query(write.closeChunks(key, { placement: "shared" }, ["a"], 2))).toEqual([{ chunks: 0, length: 0 }]);
    await query(write.advanceCorpus(key, version(2, "delete", 3, 4)));
    await query(write.recordVersion(key, version(2, "delete", 3, 4)));
  });
  await opened.database.write("adder", accessTo(corpus.tenantId), limits(), async ({ query }) => {
    expect(await query(write.lockCorpus(key))).toEqual([
      {
        ...{ version: 2, nextChunk: 4, liveDocuments: 3, liveTextBytes: 7, liveChunks: 3, liveLength: 9 },
        ...{ language: "english", space: corpus.space, screening: "flag", placement: "shared" },
      },
    ]);
    const documents = [document("B", "new words", 1), document("c", "held back", 0)];
    expect(await query(write.closeDocuments(key, ["B", "c"], 3))).toEqual([17]);
    await query(write.insertDocuments(key, 3, BY, documents));
    await query(write.insertTexts(key, 3, documents));
    expect(await query(write.closeChunks(key, { placement: "shared" }, ["B", "c"], 3))).toEqual([
      { chunks: 1, length: 3 },
    ]);
    await query(
      write.insertChunks(key, "shared", 3, FIELDS, [chunk(4, "B", "[0.6,0.8]", { at: [0, 3], year: year + 5 })]),
    );
    await query(write.advanceCorpus(key, version(3, "add", 3, 5)));
    await query(write.recordVersion(key, version(3, "add", 3, 5)));
  });
}

/** The reader's answer, which must be the operator's too: its policies let every tenant through, the statement does not. */
async function read<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
  const [rows] = await opened.database.read("reader", accessTo(CORPUS.tenantId), [statement], limits());
  expect(await opened.operator.read(statement)).toEqual(rows);
  return rows;
}

const NEWEST = { pin: undefined };
const at = (token: string) => ({ pin: token });
const placed = (rows: readonly recall.DenseRow[]) => rows.map((row) => `${row.docId}#${row.ordinal} (${row.chunkNo})`);

describe("a state", () => {
  test.each([
    ["the newest", NEWEST, { version: 3, token: "v3", liveChunks: 3, liveLength: 9, nextChunk: 5 }],
    ["a pinned one", at("v1"), { version: 1, token: "v1", liveChunks: 4, liveLength: 12, nextChunk: 4 }],
  ])("%s is the one that was recorded", async (_, point, state) => {
    expect(await read(recall.corpusState(CORPUS, point))).toMatchObject([state]);
  });

  test("of a token that the corpus has not, or of a corpus that is not there, is no row", async () => {
    expect(await read(recall.corpusState(CORPUS, at("v9")))).toEqual([]);
    expect(await read(recall.corpusState({ ...CORPUS, name: "none" as CorpusName }, NEWEST))).toEqual([]);
  });

  test("a corpus is found by its name, with its settings", async () => {
    expect(await read(findCorpus(CORPUS.tenantId, CORPUS.name))).toEqual([CORPUS]);
    expect(await read(findCorpus(CORPUS.tenantId, "none" as CorpusName))).toEqual([]);
  });
});

describe("the nearest chunks", () => {
  // Bytes order B before a before b; equal distances are ordered by id, then ordinal.
  test.each([
    ["newest", NEWEST, ["b#0 (2)", "b#1 (3)", "B#0 (4)"]],
    ["at version 1", at("v1"), ["a#0 (0)", "b#0 (2)", "b#1 (3)", "B#0 (1)"]],
    ["at version 2", at("v2"), ["b#0 (2)", "b#1 (3)", "B#0 (1)"]],
    ["at version 3", at("v3"), ["b#0 (2)", "b#1 (3)", "B#0 (4)"]],
    ["at no version", at("v9"), []],
  ])("%s are those that were live then, best first", async (_, point, expected) => {
    expect(placed(await read(recall.nearestChunks(CORPUS, point, EAST, {}, 10)))).toEqual(expected);
    expect(placed(await read(recall.nearestChunks(CORPUS, point, EAST, {}, 1)))).toEqual(expected.slice(0, 1));
  });

  test("bring their cosine with them", async () => {
    const rows = await read(recall.nearestChunks(CORPUS, at("v3"), EAST, {}, 10));
    expect(rows.map((row) => row.similarity)).toEqual([1, 1, expect.closeTo(0.6, 3)]);
    expect((await read(recall.nearestChunks(CORPUS, at("v2"), EAST, {}, 10))).at(-1)?.similarity).toBe(0);
  });

  test.each([
    ["newest", NEWEST, [4]],
    ["at version 1", at("v1"), [0]],
    ["at version 2", at("v2"), []],
    ["at no version", at("v9"), []],
  ])("that pass a filter, %s, are the ones that BM25 may count", async (_, point, expected) => {
    const nearest = await read(recall.nearestChunks(CORPUS, point, EAST, { filter: since2000 }, 10));
    expect(nearest.map((row) => row.chunkNo)).toEqual(expected);
    expect(await chunksOf("allowed", point, { filter: since2000 })).toEqual(expected);
  });

  // Chunk 2 is 32 bits from no ones, chunk 3 is 48 and chunk 4 is 64.
  test.each([
    ["near to none", [], [], [2, 3, 4]],
    ["32 bits from one", [ones(0)], [], [3, 4]],
    ["near to either of two", [ones(0), ones(128), ones(96)], [], [3]],
    ["near, but those that stay", [ones(0)], ["b", "x"], [2, 3, 4]],
  ])("that are no surplus, %s, are those further away", async (_, near, but, expected) => {
    const surplus = { near, but };
    const nearest = await read(recall.nearestChunks(CORPUS, NEWEST, EAST, { surplus }, 10));
    expect(nearest.map((row) => row.chunkNo).toSorted()).toEqual(expected);
    expect(await chunksOf("allowed", NEWEST, { surplus })).toEqual(expected);
    const both = await chunksOf("allowed", NEWEST, { filter: since2000, surplus });
    expect(both).toEqual(expected.filter((chunkNo) => chunkNo === 4));
  });
});

/** Numbers that come beside the postings; the history is all in block 0. */
async function chunksOf(
  kind: "closed" | "allowed",
  point: ReadPoint,
  restriction: recall.Restriction = {},
): Promise<number[]> {
  const rows = await read(postingsOfTerms(CORPUS, point, ["absent"], restriction));
  return rows.flatMap((row) => {
    expect(row.block).toBe(0);
    const bytes = row.kind === kind ? Buffer.from(row.offsets, "base64") : Buffer.alloc(0);
    return Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(index * 2)).toSorted(
      (a, b) => a - b,
    );
  });
}

describe("the closed chunks", () => {
  test.each([
    ["newest", NEWEST, [0, 1]],
    ["at version 1", at("v1"), []],
    ["at version 2", at("v2"), [0]],
    ["at version 3", at("v3"), [0, 1]],
    ["at no version", at("v9"), []],
  ])("%s", async (_, point, expected) => {
    expect(await chunksOf("closed", point)).toEqual(expected);
  });
});

test("chunks by number, whether or not they are live, and their similarity when a vector is given", async () => {
  const bare = await read(recall.chunksByNumber(CORPUS, [4, 0, 99], undefined));
  expect(bare.toSorted((x, y) => x.chunkNo - y.chunkNo)).toEqual([
    { chunkNo: 0, docId: "a", ordinal: 0, print: ones(0), similarity: 0 },
    { chunkNo: 4, docId: "B", ordinal: 0, print: ones(64), similarity: 0 },
  ]);
  const near = await read(recall.chunksByNumber(CORPUS, [4, 0], EAST));
  expect(new Map(near.map((row) => [row.chunkNo, row.similarity]))).toEqual(
    new Map([
      [0, 1],
      [4, expect.closeTo(0.6, 3)],
    ]),
  );
  expect(await read(recall.chunksByNumber(CORPUS, [], EAST))).toEqual([]);
});

describe("a hit's row", () => {
  const shared = { source: "api", trust: "community", injectionSuspected: false, uri: undefined, meta: { a: 2, b: 1 } };

  test("has the text between its offsets, in code points, of the version that the chunk belongs to", async () => {
    const rows = await read(ranked.hitRows(CORPUS, [1, 3, 4], { unit: "chunk", maxCharacters: 1_000, vector: true }));
    expect(rows.toSorted((x, y) => x.chunkNo - y.chunkNo)).toEqual([
      {
        ...{
          chunkNo: 1,
          docId: "B",
          ordinal: 0,
          chunkCount: 1,
          start: 0,
          end: 5,
          text: "\u{1F600} amb",
          vector: [0, 1],
        },
        ...{ title: "title of B", ...shared },
      },
      {
        ...{ chunkNo: 3, docId: "b", ordinal: 1, chunkCount: 2, start: 8, end: 14, text: "basalt", vector: [1, 0] },
        ...{ context: 'about {"basalt"} \u{1F600}', title: "title of b", ...shared },
      },
      {
        ...{ chunkNo: 4, docId: "B", ordinal: 0, chunkCount: 1, start: 0, end: 3, text: "new" },
        ...{ vector: [expect.closeTo(0.6, 3), expect.closeTo(0.8, 3)], title: "title of B", ...shared },
      },
    ]);
  });

  test.each([
    ["neither", { maxCharacters: 0, vector: false }, [undefined, undefined]],
    ["the text alone", { maxCharacters: 3, vector: false }, ["new", undefined]],
    ["the vector alone", { maxCharacters: 0, vector: true }, [undefined, expect.any(Array)]],
  ])("shows %s when asked so", async (_, show, expected) => {
    const [row] = await read(ranked.hitRows(CORPUS, [4], { unit: "chunk", ...show }));
    expect([row?.text, row?.vector]).toEqual(expected);
  });
});

test.each([
  // "new" of "new words", "basalt" of a document of 14 characters
  ["chunk", [4, 3, 2], 9, [4, 3]],
  ["chunk", [4, 3, 2], 8, [4]],
  ["chunk", [3, 4], 1, [3]],
  ["chunk", [99, 3, 4], 6, [3]],
  ["document", [4, 3], 23, [4, 3]],
  ["document", [4, 3], 22, [4]],
] as const)("of %ss %j, %i characters are the texts of %j", async (unit, chunkNos, maxCharacters, expected) => {
  const rows = await read(ranked.hitRows(CORPUS, chunkNos, { unit, maxCharacters, vector: false }));
  const withText = new Set(rows.filter(({ text }) => text !== undefined).map(({ chunkNo }) => chunkNo));
  expect(chunkNos.filter((chunkNo) => withText.has(chunkNo))).toEqual(expected);
});

test("a chunk's context comes with its text, and with what a reranker reads", async () => {
  const contexts = async (maxCharacters: number) => {
    const rows = await read(ranked.hitRows(CORPUS, [2, 3, 4], { unit: "chunk", maxCharacters, vector: false }));
    return rows.toSorted((x, y) => x.chunkNo - y.chunkNo).map((row) => row.context);
  };
  expect(await contexts(1_000)).toEqual([undefined, 'about {"basalt"} \u{1F600}', undefined]);
  expect(await contexts(0)).toEqual([undefined, undefined, undefined]);
  const passages = await read(ranked.chunkPassages(CORPUS, [2, 3, 4]));
  expect(passages.toSorted((x, y) => x.chunkNo - y.chunkNo).map(({ value }) => value)).toEqual([
    "title of b\n\u{1F600} amber",
    'title of b\nabout {"basalt"} \u{1F600}\nbasalt',
    "title of B\nnew",
  ]);
});

test("every type of filter field comes back as it was written, lists in their order", async () => {
  const values = {
    lang: "it's",
    title: 'a "title", {or} \\ so',
    year: -9_007_199_254_740_991,
    rating: 1e-7,
    active: false,
    published: 1_682_899_200_000,
    tags: ["a'b", 'q"{},\\', "", "NULL", "\u{1F600}"],
    notes: [],
    years: [3, 1, 2],
    ratings: [0.5, 1e308, -0.1],
    flags: [true, false],
    dates: [0, -1],
  };
  const key = { tenantId: CORPUS.tenantId, corpus: CORPUS.name };
  const full = { ...chunk(100, "all", "[1,0]"), fields: new Map(Object.entries(values)) };
  const none = chunk(101, "all", "[1,0]", { ordinal: 1 });
  await opened.database.write("adder", accessTo(CORPUS.tenantId), limits(), ({ query }) =>
    query(write.insertChunks(key, "shared", 9, FIELDS, [full, none])),
  );

  const rows = await opened.admin.query(
    compile(sql`select to_jsonb(c) as row from pgrcp.chunks c where doc_id = 'all' order by chunk_no`, ({ row }) =>
      Object.fromEntries(FIELDS.map(({ name, column }) => [name, (row as Record<string, unknown>)[column]])),
    ),
  );

  expect(rows).toEqual([values, Object.fromEntries(FIELDS.map(({ name }) => [name, null]))]);
});

test("a corpus is made once, and only for a tenant that is there", async () => {
  const rows = (corpus: Corpus) =>
    opened.database.write("adder", accessTo(corpus.tenantId), limits(), ({ query }) => query(createCorpus(corpus)));

  expect(await rows({ ...CORPUS, name: "second" as CorpusName })).toMatchObject([{ name: "second" }]);
  expect(await rows({ ...CORPUS, name: "second" as CorpusName, language: "german" })).toEqual([]);
  expect(await rows(papersOf("nobody"))).toEqual([]);
});
