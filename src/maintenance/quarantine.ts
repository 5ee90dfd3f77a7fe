import type { CorpusName, FilterFields, TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { OperatorDatabase, TenantTransaction } from "../db/database.ts";
import { chunkAgain } from "../indexing/chunk-again.ts";
import { gatherChunks, numberChunks } from "../indexing/number-chunks.ts";
import {
  type CorpusKey,
  closeChunks,
  closeDocuments,
  insertChunks,
  type LockedCorpus,
  lockCorpus,
} from "../sql/documents.ts";
import { appendPostings } from "../sql/postings.ts";
import {
  rewriteDocuments,
  type SuspectedDocument,
  selectAnswering,
  selectQuarantined,
  selectSuspected,
} from "../sql/quarantine.ts";
import { withdrawVersionsSince } from "../sql/sources.ts";
import type { WithModel } from "./configured-model.ts";
import { findCorpus } from "./corpora.ts";
import type { CorpusAddress } from "./documents.ts";
import { recordOperatorVersion } from "./record-operator-version.ts";
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
async function quarantineIn(database: OperatorDatabase, key: CorpusKey, callers: number) {
  return await database.write(async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    const documents = await transaction.query(selectSuspected(key.tenantId, key.corpus, callers));
    if (before === undefined || documents.length === 0) return undefined;
    return { documents, done: await takeOut(transaction, key, before, documents) };
  });
}

/** Closes documents that are in answers, and writes them again without chunks. The transaction holds the corpus's lock. */
async function takeOut(
  transaction: TenantTransaction,
  key: CorpusKey,
  before: LockedCorpus,
  documents: readonly Pick<SuspectedDocument, "docId" | "addedVersion">[],
): Promise<{ readonly chunks: number; readonly versions: number }> {
  const ids = documents.map(({ docId }) => docId);
  const since = Math.min(...documents.map(({ addedVersion }) => addedVersion));
  const versions = await transaction.query(withdrawVersionsSince(key, since));
  const version = before.version + 1;
  await transaction.query(closeDocuments(key, ids, version));
  const rows = ids.map((docId) => ({ docId, chunks: 0 }));
  await transaction.query(rewriteDocuments(key, rows, version, true));
  const [closed = { chunks: 0, length: 0 }] = await transaction.query(closeChunks(key, before, ids, version));
  const less = { documents: 0, textBytes: 0, chunks: -closed.chunks, length: -closed.length };
  await recordOperatorVersion(transaction, key, before, "quarantine", ids.length, less);
  return { chunks: closed.chunks, versions: versions.length };
}

/** What was done to documents that an operator named. */
export interface ChangedByName {
  readonly documents: number;
  readonly chunks: number;
  /** Versions that can no longer be asked for. */
  readonly versions: number;
  /** Ids of which there was nothing to change. */
  readonly unknown: readonly string[];
}

const nothing = (unknown: readonly string[]): ChangedByName => ({ documents: 0, chunks: 0, versions: 0, unknown });

const missingOf = (docIds: readonly string[], found: readonly { readonly docId: string }[]): readonly string[] =>
  [...new Set(docIds)].filter((id) => !found.some(({ docId }) => docId === id));

/**
 * Quarantines documents that an operator names, in one transaction.
 *
 * @throws Refusal when the tenant or the corpus is not there
 */
export async function quarantineDocuments(
  database: OperatorDatabase,
  { tenant, corpus }: CorpusAddress,
  docIds: readonly string[],
): Promise<ChangedByName> {
  const tenantId = await findTenant(database, tenant);
  await findCorpus(database, tenantId, corpus);
  const key = { tenantId, corpus: corpus as CorpusName };
  return await database.write(async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    const documents = await transaction.query(selectAnswering(key, docIds));
    const unknown = missingOf(docIds, documents);
    if (before === undefined || documents.length === 0) return nothing(unknown);
    return { documents: documents.length, ...(await takeOut(transaction, key, before, documents)), unknown };
  });
}

/** What new chunks are made with. */
export interface ReleaseContext {
  readonly indexing: Pick<Config["indexing"], "chunkTokens" | "overlapTokens" | "embedBatch">;
  readonly fields: FilterFields;
  readonly withModel: WithModel;
}

/**
 * Puts quarantined documents, whoever quarantined them, back into answers: cut and embedded as if they were added now, under their
 * old source, trust and time. What the screen said of a text stays on its hits.
 *
 * @throws Refusal when the tenant or the corpus is not there, the corpus is another model's, or a document changed meanwhile
 */
export async function releaseDocuments(
  database: OperatorDatabase,
  { tenant, corpus }: CorpusAddress,
  docIds: readonly string[],
  { indexing, fields, withModel }: ReleaseContext,
): Promise<ChangedByName> {
  const tenantId = await findTenant(database, tenant);
  const { language, model, dimension } = await findCorpus(database, tenantId, corpus);
  const key = { tenantId, corpus: corpus as CorpusName };
  const stored = await database.read(selectQuarantined(key, docIds));
  const unknown = missingOf(docIds, stored);
  if (stored.length === 0) return nothing(unknown);
  const { documents, vectors } = await withModel((embedding) => {
    const { space } = embedding;
    if (space.identity !== model || space.dimension !== dimension)
      throw new Refusal("the corpus was embedded with another model", "set models.embedding back to that one");
    return chunkAgain(stored, { ...indexing, tenantId, language, embedding, fields });
  });
  const gathered = await gatherChunks(documents, vectors);
  return await database.write(async (transaction) => {
    const [before] = await transaction.query(lockCorpus(key));
    const now = await transaction.query(selectQuarantined(key, docIds));
    const isSame = now.length === stored.length && now.every((one, n) => one.addedVersion === stored[n]?.addedVersion);
    if (before === undefined || !isSame)
      throw new Refusal("a document was written again or deleted meanwhile", "look at it, and run the command again");
    const version = before.version + 1;
    const ids = stored.map(({ docId }) => docId);
    const { rows, postings } = numberChunks(gathered, before.nextChunk);
    await transaction.query(closeDocuments(key, ids, version));
    const written = documents.map(({ row, chunks }) => ({ docId: row.docId, chunks: chunks.length }));
    await transaction.query(rewriteDocuments(key, written, version, false));
    if (rows.length > 0) {
      await transaction.query(insertChunks(key, before.placement, version, [...fields.values()], rows));
      await transaction.query(appendPostings(tenantId, key.corpus, postings));
    }
    const more = { documents: 0, textBytes: 0, chunks: rows.length, length: gathered.length, numbers: rows.length };
    await recordOperatorVersion(transaction, key, before, "release", ids.length, more);
    return { documents: ids.length, chunks: rows.length, versions: 0, unknown };
  });
}
