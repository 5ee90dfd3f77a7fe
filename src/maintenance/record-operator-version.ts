import type { TenantTransaction } from "../db/database.ts";
import { type CountChange, recordChange } from "../indexing/record-change.ts";
import { versionToken } from "../indexing/version-token.ts";
import { OPERATOR } from "../sql/audit.ts";
import type { CorpusKey, LockedCorpus, NewVersion } from "../sql/documents.ts";

/**
 * Records an operator's command as the corpus's next version. The transaction holds the corpus's lock.
 *
 * @param documents how many it was about, live or not
 */
export async function recordOperatorVersion(
  transaction: TenantTransaction,
  key: CorpusKey,
  before: LockedCorpus,
  action: NewVersion["action"],
  documents: number,
  counts: CountChange,
): Promise<void> {
  const change = { token: versionToken(), action, documents, ...OPERATOR, tokenId: undefined };
  await recordChange(transaction, key, before, change, counts);
}
