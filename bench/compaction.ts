import type { CorpusName, TenantId } from "../src/catalog/corpus.ts";
import { BLOCK_SIZE, packPostings } from "../src/catalog/posting-block.ts";
import { compactPostings } from "../src/maintenance/compact-postings.ts";
import { appendPostings } from "../src/sql/postings.ts";
import { openTestDatabase } from "../test/support/database.ts";
import { chunksOfBlock, makeTenant } from "../test/support/zipf-corpus.ts";
import { timed } from "./statistics.ts";

/** What the index of words takes where chunks were written one at a time: 100 distinct words each. */
export interface CompactionFigures {
  readonly chunks: number;
  /** Table, out-of-line blocks and indexes of one chunk, as Postgres counts them. */
  readonly bytesPerChunk: number;
  readonly bytesPerChunkCompacted: number;
  readonly compactionMs: number;
}

export async function measureCompaction(chunks: number): Promise<CompactionFigures> {
  const { operator, admin, close } = await openTestDatabase();
  const tenantId = "acme" as TenantId;
  const bytesPerChunk = async () => {
    const [size] = await admin.query({
      text: "select pg_total_relation_size('pgrcp.postings') as bytes",
      values: [],
      decode: (row) => row.bytes as number,
    });
    return (size ?? 0) / chunks;
  };
  try {
    await makeTenant(operator, tenantId);
    for (let first = 0; first < chunks; first += BLOCK_SIZE)
      for (const chunk of chunksOfBlock(first, Math.min(BLOCK_SIZE, chunks - first))) {
        const append = appendPostings(tenantId, "default" as CorpusName, packPostings([chunk]));
        await operator.write((transaction) => transaction.query(append));
      }
    const before = await bytesPerChunk();
    const compactionMs = await timed(() => compactPostings(admin));
    return { chunks, bytesPerChunk: before, bytesPerChunkCompacted: await bytesPerChunk(), compactionMs };
  } finally {
    await close();
  }
}
