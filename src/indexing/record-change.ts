import type { TenantTransaction } from "../db/database.ts";
import { advanceCorpus, type CorpusKey, type LockedCorpus, type NewVersion, recordVersion } from "../sql/documents.ts";
import type { Statement } from "../sql/sql.ts";

/** What a version adds to a corpus's live counts; less than 0 for what it takes away. */
export interface CountChange {
  readonly documents: number;
  readonly textBytes: number;
  readonly chunks: number;
  readonly length: number;
  /** Chunk numbers that were given out; 0 when absent. */
  readonly numbers?: number;
}

/**
 * Records what was written as the corpus's next version. The transaction holds the corpus's lock.
 *
 * @param inserts statements of the write that go before, in the same round trip
 */
export async function recordChange(
  transaction: TenantTransaction,
  key: CorpusKey,
  before: LockedCorpus,
  change: Omit<NewVersion, "counters">,
  counts: CountChange,
  inserts: readonly Statement[] = [],
): Promise<void> {
  const next: NewVersion = {
    ...change,
    counters: {
      version: before.version + 1,
      nextChunk: before.nextChunk + (counts.numbers ?? 0),
      liveDocuments: before.liveDocuments + counts.documents,
      liveTextBytes: before.liveTextBytes + counts.textBytes,
      liveChunks: before.liveChunks + counts.chunks,
      liveLength: before.liveLength + counts.length,
    },
  };
  await transaction.batch([...inserts, advanceCorpus(key, next), recordVersion(key, next)]);
  transaction.advances(key.corpus, next.counters.version);
}
