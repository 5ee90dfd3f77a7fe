import { afterAll, beforeAll, expect, test } from "vitest";
import { exportDocuments } from "../../src/sql/operator.ts";
import { chunkPassages, hitRows } from "../../src/sql/ranked-chunks.ts";
import { nearestChunks } from "../../src/sql/recall.ts";
import { postingsOfTerms } from "../../src/sql/recall-sparse.ts";
import { explained, type Statement } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { papersOf } from "./papers.ts";

/** How statements are planned before anybody has analysed what was written: the first minute of every large import. */

const CORPUS = papersOf("acme");
const NEWEST = { pin: undefined };
const SHOW = { unit: "chunk", maxCharacters: 1_000, vector: false } as const;

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

async function planOf(statement: Statement): Promise<string> {
  const limits = { signal: new AbortController().signal, timeoutMs: 20_000 };
  const [lines] = await opened.database.read("reader", accessTo(CORPUS.tenantId), [explained(statement)], limits);
  return lines.join("\n");
}

/** By what each look into an index finds its rows. */
const conditionsOf = (plan: string, index: string): readonly string[] =>
  plan
    .split(/(?=->)/)
    .filter((node) => node.includes(`using ${index} `))
    .map((node) => /Index Cond: .*/.exec(node)?.[0] ?? "");

function expectOneLookUp(plan: string, index: string, keys: readonly string[]): void {
  const conditions = conditionsOf(plan, index);
  expect(conditions).toHaveLength(1);
  for (const key of keys) expect(conditions[0]).toContain(`${key} = `);
}

const DOCUMENT_KEY = ["tenant_id", "corpus", "doc_id", "added_version"];

test.each([
  ["of the nearest", nearestChunks(CORPUS, NEWEST, Float32Array.of(1, 0), {}, 20, { count: 10, show: SHOW })],
  ["of hits", hitRows(CORPUS, [1, 2, 3], SHOW)],
  ["of passages", chunkPassages(CORPUS, [1, 2, 3])],
])("documents and texts %s are looked up by their whole key", async (_, statement) => {
  const plan = await planOf(statement);

  expect(plan).not.toContain("Join Filter");
  for (const index of ["documents_pkey", "document_texts_pkey"]) expectOneLookUp(plan, index, DOCUMENT_KEY);
});

test("texts of an export are looked up by their whole key", async () => {
  const lines = await opened.operator.read(explained(exportDocuments(CORPUS.tenantId, CORPUS.name)));

  expectOneLookUp(lines.join("\n"), "document_texts_pkey", DOCUMENT_KEY);
});

test("blocks of postings are looked up by their term", async () => {
  const plan = await planOf(postingsOfTerms(CORPUS, NEWEST, ["cell", "wall"], {}));

  expectOneLookUp(plan, "postings_pkey", ["tenant_id", "corpus", "term"]);
});
