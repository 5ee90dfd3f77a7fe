import type { Access, Database, StatementLimits } from "../db/database.ts";
import type { CorpusKey, Provenance } from "../sql/documents.ts";
import { advanceCorpus, closeChunks, closeDocuments, lockCorpus, recordVersion } from "../sql/documents.ts";
import { versionToken } from "./version-token.ts";

/**
 * Deletes documents by id in one transaction and records one version; when none of them is live, nothing is recorded.
 *
 * @returns how many documents this call removed
 */
export function deleteDocuments(
  database: Database,
  key: CorpusKey,
  docIds: readonly string[],
  by: Access & Omit<Provenance, "source">,
  limits: StatementLimits,
): Promise<number> {
  return database.write("deleter", by, limits, async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    if (before === undefined) return 0;
    const version = before.version + 1;
    const closed = await transaction.query(closeDocuments(key, docIds, version));
    if (closed.length === 0) return 0;
    const [gone = { chunks: 0, length: 0 }] = await transaction.query(closeChunks(key, docIds, version));
    const next = {
      counters: {
        version,
        nextChunk: before.nextChunk,
        liveDocuments: before.liveDocuments - closed.length,
        liveChunks: before.liveChunks - gone.chunks,
        liveLength: before.liveLength - gone.length,
      },
      token: versionToken(),
      action: "delete" as const,
      issuer: by.issuer,
      subject: by.subject,
      tokenId: by.tokenId,
    };
    await transaction.query(advanceCorpus(key, next));
    await transaction.query(recordVersion(key, next));
    return closed.length;
  });
}
