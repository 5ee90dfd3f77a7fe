import type { Access, Database, StatementLimits } from "../db/database.ts";
import type { CorpusKey, Provenance } from "../sql/documents.ts";
import { closeChunks, closeDocuments, countLive, lockCorpus } from "../sql/documents.ts";
import { forgetRevoked } from "../sql/revocations.ts";
import { claimFirst, findFirst, type OnceWrite } from "./first-result.ts";
import { recordChange } from "./record-change.ts";
import { versionToken } from "./version-token.ts";

export interface DeleteResult {
  /** How many documents the call removed. */
  readonly deleted: number;
}

/**
 * Deletes documents by id in one transaction and records one version; when none of them is live, nothing is recorded. A document
 * whose source is revoked does not count, and does not come back when the source is restored.
 *
 * @param once undefined: a repeat is another write
 * @throws RpcError -32010, -32012, -32014, -32016
 * @see RCP §7.11
 */
export async function deleteDocuments(
  database: Database,
  key: CorpusKey,
  docIds: readonly string[],
  by: Access & Omit<Provenance, "source">,
  once: OnceWrite | undefined,
  limits: StatementLimits,
): Promise<DeleteResult> {
  const earlier = once && (await findFirst<DeleteResult>(database, by, once, limits));
  if (earlier !== undefined) return earlier;
  return await database.write("deleter", by, limits, async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    if (once !== undefined) {
      // Counted under the corpus's lock, so that what is kept is what the next statement does.
      const [live = 0] = await transaction.query(countLive(key, docIds));
      const first = await claimFirst(transaction, once, { deleted: live });
      if (first !== undefined) return first;
    }
    if (before === undefined) return { deleted: 0 };
    const version = before.version + 1;
    const [, closed] = await transaction.batch([forgetRevoked(key, docIds), closeDocuments(key, docIds, version)]);
    if (closed.length === 0) return { deleted: 0 };
    const [gone = { chunks: 0, length: 0 }] = await transaction.query(closeChunks(key, before, docIds, version));
    const change = {
      token: versionToken(),
      action: "delete",
      documents: closed.length,
      issuer: by.issuer,
      subject: by.subject,
      tokenId: by.tokenId,
    } as const;
    const less = {
      documents: -closed.length,
      textBytes: -closed.reduce((sum, bytes) => sum + bytes, 0),
      chunks: -gone.chunks,
      length: -gone.length,
    };
    await recordChange(transaction, key, before, change, less);
    return { deleted: closed.length };
  });
}
