import type { TenantId } from "../catalog/corpus.ts";
import type { OperatorDatabase, TenantTransaction } from "../db/database.ts";
import { recordCommand } from "../sql/audit.ts";
import { type CorpusKey, type LockedCorpus, lockCorpus } from "../sql/documents.ts";
import { selectRevocation } from "../sql/revocations.ts";
import * as statements from "../sql/sources.ts";
import { findCorpus } from "./corpora.ts";
import { recordOperatorVersion } from "./record-operator-version.ts";
import { Refusal } from "./refusal.ts";
import { findTenant } from "./tenants.ts";

export type { SourceRow } from "../sql/sources.ts";

/** Looking at what a tenant's documents come from, and taking a source out of every answer and back in. */

/** What changed in one corpus. */
export interface SourceChange {
  readonly corpus: string;
  readonly documents: number;
  readonly chunks: number;
  /** Versions that can no longer be asked for. */
  readonly versions: number;
}

/** @throws Refusal when the tenant or the corpus is not there */
export async function listSources(
  database: OperatorDatabase,
  tenant: string,
  corpus: string | undefined,
): Promise<readonly statements.SourceRow[]> {
  const tenantId = await findTenant(database, tenant);
  if (corpus !== undefined) await findCorpus(database, tenantId, corpus);
  return await database.read(statements.selectSources(tenantId, corpus));
}

/**
 * Takes everything that a source wrote out of every answer and lets it write no more, in one transaction a corpus. A command that
 * stopped halfway is done with by the same command again.
 *
 * @returns the corpora where there was something to do
 * @throws Refusal for an unknown tenant or source, and when somebody restores the source meanwhile
 */
export async function* revokeSource(
  database: OperatorDatabase,
  tenant: string,
  source: string,
): AsyncIterable<SourceChange> {
  const tenantId = await findSource(database, tenant, source);
  await database.write(async (transaction) => {
    await transaction.query(statements.lockTenant(tenantId));
    await transaction.query(statements.insertRevocation(tenantId, source));
    await transaction.query(recordCommand({ tenantId, action: "revoke", detail: source }));
  });
  yield* inEachCorpus(database, tenantId, async (transaction, key, before) => {
    if ((await transaction.query(selectRevocation(tenantId, source))).length === 0)
      throw new Refusal("the source was restored meanwhile", "revoke it again if it is to stay revoked");
    const [closed = NOTHING] = await transaction.query(statements.closeSource(key, source, before.version + 1));
    const versions = await transaction.query(statements.withdrawVersionsWith(key, source));
    if (closed.documents + versions.length === 0) return undefined;
    const { documents, textBytes, chunks, length } = closed;
    const less = { documents: -documents, textBytes: -textBytes, chunks: -chunks, length: -length };
    await recordOperatorVersion(transaction, key, before, "revoke", documents, less);
    return { documents, chunks, versions: versions.length };
  });
}

/**
 * Brings back what revoking a source took out and lets it write again. A document that was written again since, or deleted, stays as
 * it is. Chunks come back under their old numbers, so versions from the revocation on would show them, too, and are withdrawn.
 *
 * @returns the corpora where there was something to bring back
 * @throws Refusal for an unknown tenant or source, and when somebody revokes the source meanwhile
 */
export async function* restoreSource(
  database: OperatorDatabase,
  tenant: string,
  source: string,
): AsyncIterable<SourceChange> {
  const tenantId = await findSource(database, tenant, source);
  await database.write(async (transaction) => {
    await transaction.query(statements.deleteRevocation(tenantId, source));
    await transaction.query(recordCommand({ tenantId, action: "restore", detail: source }));
  });
  yield* inEachCorpus(database, tenantId, async (transaction, key, before) => {
    if ((await transaction.query(selectRevocation(tenantId, source))).length > 0)
      throw new Refusal("the source was revoked meanwhile", "restore it again if it is to come back");
    const [opened = { ...NOTHING, since: null }] = await transaction.query(statements.reopenSource(key, source));
    if (opened.since === null) return undefined;
    const versions = await transaction.query(statements.withdrawVersionsSince(key, opened.since));
    await recordOperatorVersion(transaction, key, before, "restore", opened.documents, opened);
    return { documents: opened.documents, chunks: opened.chunks, versions: versions.length };
  });
}

/**
 * Makes a change in every corpus of a tenant, each locked in a transaction of its own: one where the source is writing for the first
 * time shows nothing of it until its lock is free.
 */
async function* inEachCorpus(
  database: OperatorDatabase,
  tenantId: TenantId,
  change: (
    transaction: TenantTransaction,
    key: CorpusKey,
    before: LockedCorpus,
  ) => Promise<Omit<SourceChange, "corpus"> | undefined>,
): AsyncIterable<SourceChange> {
  for (const corpus of await database.read(statements.selectCorpusNames(tenantId))) {
    const key = { tenantId, corpus };
    const changed = await database.write(async (transaction) => {
      const [before] = await transaction.query(lockCorpus(key));
      return before && (await change(transaction, key, before));
    });
    if (changed !== undefined) yield { corpus, ...changed };
  }
}

const NOTHING = { documents: 0, textBytes: 0, chunks: 0, length: 0 };

/** @throws Refusal for a source that the tenant never had: a misspelt name must not look like a source taken out */
async function findSource(database: OperatorDatabase, tenant: string, source: string): Promise<TenantId> {
  const tenantId = await findTenant(database, tenant);
  const written = await database.read(statements.selectAnyBy(tenantId, source));
  const revoked = await database.read(selectRevocation(tenantId, source));
  if (written.length > 0 || revoked.length > 0) return tenantId;
  throw new Refusal("the tenant has nothing by such a source", "pgrcp sources list shows those there are");
}
