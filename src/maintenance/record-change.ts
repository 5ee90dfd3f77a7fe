import type { TenantTransaction } from "../db/database.ts";
import { versionToken } from "../indexing/version-token.ts";
import { OPERATOR } from "../sql/audit.ts";
import { advanceCorpus, type CorpusKey, type LockedCorpus, type NewVersion, recordVersion } from "../sql/documents.ts";

/** What an operator's command adds to a corpus's live counts. */
export interface CountChange {
  readonly documents: number;
  readonly textBytes: number;
  readonly chunks: number;
  readonly length: number;
  /** Chunk numbers that were given out; 0 when absent. */
  readonly numbers?: number;
}

/**
 * Records an operator's command as the corpus's next version. The transaction holds the corpus's lock.
 *
 * @param documents how many it was about, live or not
 */
export async function recordChange(
  transaction: TenantTransaction,
  key: CorpusKey,
  before: LockedCorpus,
  action: NewVersion["action"],
  documents: number,
  change: CountChange,
): Promise<void> {
  const next: NewVersion = {
    counters: {
      version: before.version + 1,
      nextChunk: before.nextChunk + (change.numbers ?? 0),
      liveDocuments: before.liveDocuments + change.documents,
      liveTextBytes: before.liveTextBytes + change.textBytes,
      liveChunks: before.liveChunks + change.chunks,
      liveLength: before.liveLength + change.length,
    },
    token: versionToken(),
    action,
    documents,
    ...OPERATOR,
    tokenId: undefined,
  };
  await transaction.query(advanceCorpus(key, next));
  await transaction.query(recordVersion(key, next));
}
