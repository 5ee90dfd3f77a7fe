import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { closeChunks, closeDocuments, lockCorpus } from "../sql/documents.ts";
import { insertQuarantined, type SuspectedDocument, selectSuspected } from "../sql/quarantine.ts";
import { withdrawVersionsSince } from "../sql/sources.ts";
import { recordChange } from "./record-change.ts";
import { Refusal } from "./refusal.ts";
import { findTenant, listTenants } from "./tenants.ts";

/** What was done, or would be, in one corpus. */
export interface Quarantined {
  readonly tenant: string;
  readonly corpus: string;
  readonly documents: readonly { readonly id: string; readonly callers: number }[];
  /** Null when it was only looked. */
  readonly done: { readonly chunks: number; readonly versions: number } | null;
}

export interface QuarantineOptions {
  /** Undefined for all tenants. */
  readonly tenant?: string | undefined;
  readonly dryRun: boolean;
}

/**
 * Quarantines what so many of a tenant's own callers suspect of poisoning, in one transaction a corpus: it stays for the operator and
 * is in no answer. Only this command does; what callers say has no other consequence (RCP §15.3).
 *
 * @param callers `feedback.quarantineAfter`
 * @returns the corpora where there was something to do
 * @throws Refusal when the configuration has no such number, and for an unknown tenant
 */
export async function* quarantineSuspected(
  database: OperatorDatabase,
  callers: number | undefined,
  { tenant, dryRun }: QuarantineOptions,
): AsyncIterable<Quarantined> {
  if (callers === undefined) {
    const remedy = "set it to the number of callers that must suspect a document";
    throw new Refusal("feedback.quarantineAfter is not set", remedy);
  }
  const tenants =
    tenant === undefined
      ? (await listTenants(database)).map((row) => row.tenant as TenantId)
      : [await findTenant(database, tenant)];
  for (const tenantId of tenants) {
    const suspected = await database.read(selectSuspected(tenantId, undefined, callers));
    for (const [corpus, documents] of Map.groupBy(suspected, (document) => document.corpus)) {
      const row = dryRun ? { documents, done: null } : await quarantineIn(database, { tenantId, corpus }, callers);
      if (row !== undefined) yield { tenant: tenantId, corpus, ...row, documents: row.documents.map(shown) };
    }
  }
}

const shown = ({ docId, callers }: SuspectedDocument) => ({ id: docId, callers });

/** Counts again behind the corpus's lock, since a document may have been written again or deleted meanwhile. */
async function quarantineIn(
  database: OperatorDatabase,
  key: { readonly tenantId: TenantId; readonly corpus: CorpusName },
  callers: number,
) {
  return await database.write(async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    const documents = await transaction.query(selectSuspected(key.tenantId, key.corpus, callers));
    if (before === undefined || documents.length === 0) return undefined;
    const ids = documents.map(({ docId }) => docId);
    const since = Math.min(...documents.map(({ addedVersion }) => addedVersion));
    const versions = await transaction.query(withdrawVersionsSince(key, since));
    const version = before.version + 1;
    await transaction.query(closeDocuments(key, ids, version));
    await transaction.query(insertQuarantined(key, ids, version));
    const [closed = { chunks: 0, length: 0 }] = await transaction.query(closeChunks(key, ids, version));
    const less = { documents: 0, textBytes: 0, chunks: -closed.chunks, length: -closed.length };
    await recordChange(transaction, key, before, "quarantine", ids.length, less);
    return { documents, done: { chunks: closed.chunks, versions: versions.length } };
  });
}
