import type { CorpusName } from "../catalog/corpus.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { lockCorpus } from "../sql/documents.ts";
import { eraseChunks, eraseDocuments } from "../sql/purge.ts";
import { forgetRevoked } from "../sql/revocations.ts";
import { withdrawVersionsHolding } from "../sql/sources.ts";
import { cleanSomePostings, FIRST_PLACE, type PostingPlace } from "./clean-postings.ts";
import { findCorpus } from "./corpora.ts";
import type { CorpusAddress } from "./documents.ts";
import type { ChangedByName } from "./quarantine.ts";
import { recordOperatorVersion } from "./record-operator-version.ts";
import { findTenant } from "./tenants.ts";

/**
 * Erases documents with every version of them, in one transaction: texts, chunks and postings. The corpus answers from then on as if
 * they had never been there. Writers of the corpus wait meanwhile.
 *
 * @returns counts of what there was, live or kept
 * @throws Refusal when the tenant or the corpus is not there
 */
export async function purgeDocuments(
  database: OperatorDatabase,
  { tenant, corpus }: CorpusAddress,
  docIds: readonly string[],
): Promise<ChangedByName> {
  const tenantId = await findTenant(database, tenant);
  await findCorpus(database, tenantId, corpus);
  const key = { tenantId, corpus: corpus as CorpusName };
  return await database.write(async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    if (before === undefined) throw new Error("a corpus is never removed");
    const versions = await transaction.query(withdrawVersionsHolding(key, docIds));
    const erased = await transaction.query(eraseDocuments(key, docIds));
    const found = new Set(erased.map((row) => row.docId));
    const unknown = [...new Set(docIds)].filter((id) => !found.has(id));
    if (erased.length === 0) return { documents: 0, chunks: 0, versions: 0, unknown };

    await transaction.query(forgetRevoked(key, docIds));
    const [chunks = { chunkNos: [], liveChunks: 0, liveLength: 0 }] = await transaction.query(eraseChunks(key, docIds));
    const gone = new Set(chunks.chunkNos);
    let after: PostingPlace | undefined = gone.size === 0 ? undefined : FIRST_PLACE;
    while (after !== undefined) after = await cleanSomePostings(transaction, key, gone, after);
    const live = erased.filter((row) => row.isLive);
    await recordOperatorVersion(transaction, key, before, "purge", found.size, {
      documents: -live.length,
      textBytes: -live.reduce((sum, row) => sum + row.textBytes, 0),
      chunks: -chunks.liveChunks,
      length: -chunks.liveLength,
    });
    return { documents: found.size, chunks: gone.size, versions: versions.length, unknown };
  });
}
