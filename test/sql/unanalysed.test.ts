import { afterAll, beforeAll, expect, test } from "vitest";
import type { Corpus, CorpusName, TenantId } from "../../src/catalog/corpus.ts";
import { chunkPassages, hitRows } from "../../src/sql/ranked-chunks.ts";
import { nearestChunks } from "../../src/sql/recall.ts";
import { postingsOfTerms } from "../../src/sql/recall-sparse.ts";
import { explained, type Statement } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";

/** How a retrieve's statements are planned before anybody has analysed what was written: the first minute of every large import. */

const CORPUS: Corpus = {
  tenantId: "acme" as TenantId,
  name: "papers" as CorpusName,
  language: "english",
  space: { identity: "test@2", dimension: 2 },
  screening: "flag",
  placement: "shared",
};
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

/** What each look into an index is for. */
const conditionsOf = (plan: string, index: string): readonly string[] =>
  plan
    .split(/(?=->)/)
    .filter((node) => node.includes(`using ${index} `))
    .map((node) => /Index Cond: .*/.exec(node)?.[0] ?? "");

test.each([
  ["of the nearest", nearestChunks(CORPUS, NEWEST, Float32Array.of(1, 0), {}, 20, { count: 10, show: SHOW })],
  ["of hits", hitRows(CORPUS, [1, 2, 3], SHOW)],
  ["of passages", chunkPassages(CORPUS, [1, 2, 3])],
])("documents and texts %s are looked up by their whole key", async (_, statement) => {
  const plan = await planOf(statement);

  expect(plan).not.toContain("Join Filter");
  for (const index of ["documents_pkey", "document_texts_pkey"]) {
    const conditions = conditionsOf(plan, index);
    expect(conditions).toHaveLength(1);
    for (const key of ["tenant_id", "corpus", "doc_id", "added_version"]) expect(conditions[0]).toContain(`${key} = `);
  }
});

test("blocks of postings are looked up by their term", async () => {
  const conditions = conditionsOf(await planOf(postingsOfTerms(CORPUS, NEWEST, ["cell", "wall"], {})), "postings_pkey");

  expect(conditions).toHaveLength(1);
  for (const key of ["tenant_id", "corpus", "term"]) expect(conditions[0]).toContain(`${key} = `);
});
