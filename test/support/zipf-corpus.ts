import { BLOCK_SIZE, type ChunkTerms, packPostings } from "../../src/catalog/posting-block.ts";
import type { OperatorDatabase } from "../../src/db/database.ts";
import { appendPostings } from "../../src/sql/postings.ts";
import { compile, noRows, type Sql, sql } from "../../src/sql/sql.ts";
import { tenant } from "../db/rows.ts";
import { SeededRandom } from "./seeded-random.ts";

/**
 * A corpus of any size whose words are spread as a language's are, for measuring BM25. A word's rank is drawn so that
 * P(rank ≥ r) = (1 + r / 20) ^ -1/2: a Zipf-Mandelbrot law with exponent 1.5, an endless vocabulary, and a commonest word of 2.4 %.
 * A chunk draws words until 100 distinct ones are there (about 120 draws: its length), so the word of rank r is in
 * 1 - (1 - p) ^ 120 of the chunks: `wordIn` knows it. 4,096 chunks have some 29,000 distinct words, a million 1.1 million.
 */

const HEAD = 20;
const DISTINCT_WORDS = 100;
const SEED = 20;

const wordOf = (rank: number): string => `w${rank}`;

export const drawWord = (random: SeededRandom): string =>
  wordOf(Math.floor(HEAD * ((1 - random.fraction()) ** -2 - 1)));

/** @returns chunks in ascending order of number; the same for the same numbers of a whole block */
export function chunksOfBlock(firstChunk: number, count: number): ChunkTerms[] {
  const random = new SeededRandom(SEED + firstChunk);
  return Array.from({ length: count }, (_, index) => {
    const counts = new Map<string, number>();
    let length = 0;
    for (; counts.size < DISTINCT_WORDS; length++) {
      const word = drawWord(random);
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return { chunkNo: firstChunk + index, length, counts };
  });
}

/** Some words that are in about this part of the chunks, commonest first. */
export function wordsIn(part: number, count: number): string[] {
  const isIn = (rank: number) =>
    1 - (1 - (1 + rank / HEAD) ** -0.5 + (1 + (rank + 1) / HEAD) ** -0.5) ** (DISTINCT_WORDS * 1.2);
  let rank = 0;
  while (isIn(rank) > part) rank++;
  return Array.from({ length: count }, (_, index) => wordOf(rank + index));
}

export async function makeTenant(operator: OperatorDatabase, tenantId: string): Promise<void> {
  const tenants = compile(sql`insert into pgrcp.tenants (tenant_id) values (${tenantId})`, noRows);
  await operator.write((transaction) => transaction.query(tenants));
}

/** A tenant with one corpus, `default`, of so many live chunks, each a document of its own, in one version. */
export async function fillZipfCorpus(operator: OperatorDatabase, tenantId: string, chunks: number): Promise<void> {
  const run = (statement: Sql) => operator.write((transaction) => transaction.query(compile(statement, noRows)));
  await makeTenant(operator, tenantId);
  let length = 0;
  const key = { tenantId: tenant(tenantId), corpus: "default" as Parameters<typeof appendPostings>[1] };
  for (let first = 0; first < chunks; first += BLOCK_SIZE) {
    const block = chunksOfBlock(first, Math.min(BLOCK_SIZE, chunks - first));
    length += block.reduce((sum, chunk) => sum + chunk.length, 0);
    await operator.write(async (transaction) => {
      await transaction.query(appendPostings(key.tenantId, key.corpus, packPostings(block)));
      await transaction.query(compile(insertChunks(tenantId, block), noRows));
    });
  }
  await run(sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening, version, next_chunk, live_documents, live_chunks, live_length)
values (${tenantId}, 'default', 'none', 'test-bag-of-words@32', 32, 'flag', 1, ${chunks}, ${chunks}, ${chunks}, ${length})`);
  await run(sql`insert into pgrcp.corpus_versions (tenant_id, corpus, version, token, issuer, subject, action, live_documents, live_chunks, live_length, next_chunk)
values (${tenantId}, 'default', 1, 'v1', 'iss', 'sub', 'add', ${chunks}, ${chunks}, ${length}, ${chunks})`);
}

const insertChunks = (tenantId: string, block: readonly ChunkTerms[]): Sql =>
  sql`with new as (select * from unnest(${block.map((chunk) => chunk.chunkNo)}::int[], ${block.map((chunk) => chunk.length)}::int[]) as new(chunk_no, terms)),
documents as (insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
  select ${tenantId}, 'default', 'd' || chunk_no, 1, 'api', 'iss', 'sub', 'untrusted', false, false, '{}', 1 from new),
texts as (insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body) select ${tenantId}, 'default', 'd' || chunk_no, 1, 'text of chunk ' || chunk_no from new)
insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, embedding)
select ${tenantId}, 'default', 'shared', chunk_no, 'd' || chunk_no, 0, 1, terms, 0, 14, '[1]'::halfvec from new`;
