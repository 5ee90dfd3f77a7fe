import { randomUUID } from "node:crypto";
import type { Corpus, FilterFields } from "../catalog/corpus.ts";
import { checkSpace } from "../db/check-space.ts";
import type { Access, Database, StatementLimits, TenantTransaction } from "../db/database.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { AddPlan } from "../plan/plan-add.ts";
import { conflict, unauthorized } from "../protocol/errors.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import { createCorpus } from "../sql/corpora.ts";
import * as documents from "../sql/documents.ts";
import { appendPostings } from "../sql/postings.ts";
import type { Quotas } from "../sql/quotas.ts";
import { selectRevocation } from "../sql/revocations.ts";
import { createTenant } from "../sql/tenants.ts";
import { checkQuotas } from "./check-quotas.ts";
import { embedInBatches } from "./embed-batches.ts";
import { type FetchContext, fetchBodies } from "./fetch-bodies.ts";
import { claimFirst, findFirst, type OnceWrite } from "./first-result.ts";
import { type NumberedChunks, numberChunks } from "./number-chunks.ts";
import { type CutDocument, cutDocument, type PreparedDocument, prepareDocument } from "./prepare-document.ts";
import { type CountChange, recordChange } from "./record-change.ts";
import { type ScreenContext, screenDocuments } from "./screen-documents.ts";
import { type SituateContext, situateChunks } from "./situate-chunks.ts";
import { versionToken } from "./version-token.ts";

export interface AddContext {
  readonly database: Database;
  readonly embedding: EmbeddingModel;
  readonly limits: { readonly signal: AbortSignal; remainingMs(): number };
  readonly by: Access & documents.Provenance & { readonly trustCeiling: TrustLevel };
  readonly fields: FilterFields;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  readonly embedBatch: number;
  readonly classifier: ScreenContext["classifier"];
  readonly observe: ScreenContext["observe"];
  /** What writes contexts for chunks; a plan that asks for them needs it. */
  readonly contexts: Pick<SituateContext, "generator" | "maxContextualChunks"> | undefined;
  /** What fetches bodies; a plan with references needs it. */
  readonly fetch: FetchContext | undefined;
  /** What the first write makes. A corpus is made only for a tenant that is there. */
  readonly create: "nothing" | "corpus" | "tenant and corpus";
  /** Of a tenant that has none of its own. */
  readonly quotas: Quotas;
  /** Undefined: a repeat is another write. */
  readonly once: OnceWrite | undefined;
}

export interface AddResult {
  /** One per document sent, in their order. */
  readonly ids: readonly string[];
  readonly chunks: number;
  /** Undefined when there was nothing to write. */
  readonly indexVersion: string | undefined;
  readonly notes: readonly string[];
}

/**
 * Upserts documents: fetched where they are references, screened, chunked, situated and embedded first, then written in one
 * transaction that replaces every earlier chunk of the same ids. An id sent twice in one call keeps its last document.
 *
 * @throws RpcError -32602 for a text that the corpus's screening policy refuses, -32012 for a source that is revoked, -32010, -32013, -32014, -32016
 * @see RCP §7.10
 */
export async function addDocuments(plan: AddPlan, corpus: Corpus, context: AddContext): Promise<AddResult> {
  const { database, embedding, by, once } = context;
  if (plan.documents.length === 0) return { ids: [], chunks: 0, indexVersion: undefined, notes: plan.notes };
  const limits = () => ({ signal: context.limits.signal, timeoutMs: context.limits.remainingMs() });
  const first = once && (await findFirst<AddResult>(database, by, once, limits()));
  if (first !== undefined) return first;
  checkSpace(corpus, embedding.space);

  const sent = plan.documents.map((document) => ({ ...document, docId: document.docId ?? randomUUID() }));
  const ids = sent.map((document) => document.docId);
  const last = new Map(sent.map((document, index) => [document.docId, { document, index }]));
  const notes = [...plan.notes];
  const whole = await fetchBodies([...last.values()], context.fetch, context.limits.signal);
  const suspected = await screenDocuments(whole, corpus, { ...context, signal: context.limits.signal, notes });
  const cut: CutDocument[] = [];
  for (const [place, { document, index }] of whole.entries()) {
    const isSuspected = suspected[place] === true;
    cut.push(await cutDocument(document, `documents[${index}]`, isSuspected, corpus, { ...context, ...plan, notes }));
  }
  const contexts = plan.contextual ? await situate(cut, context, notes) : undefined;
  const prepared: PreparedDocument[] = [];
  for (const [index, document] of cut.entries())
    prepared.push(await prepareDocument(document, contexts?.[index], corpus));
  const vectors = await embedInBatches(
    embedding,
    prepared.flatMap((one) => one.chunks.map((chunk) => chunk.modelText)),
    context.embedBatch,
    context.limits.signal,
    by.tenantId,
  );

  const chunks = prepared.reduce((sum, one) => sum + one.chunks.length, 0);
  const result = { ids, chunks, indexVersion: versionToken(), notes };
  return await write(result, prepared, vectors, corpus, context, limits());
}

function situate(documents: readonly CutDocument[], context: AddContext, notes: string[]) {
  const { contexts, embedding, limits, by } = context;
  if (contexts === undefined) throw new Error("contexts are not planned where nothing writes them");
  return situateChunks(documents, { ...contexts, embedding, tenantId: by.tenantId, signal: limits.signal, notes });
}

/** @returns the result; that of the first write with the same key when there was one, and then nothing is written */
function write(
  result: AddResult & { readonly indexVersion: string },
  prepared: readonly PreparedDocument[],
  vectors: readonly string[],
  corpus: Corpus,
  context: AddContext,
  limits: StatementLimits,
): Promise<AddResult> {
  const { by } = context;
  const key = { tenantId: corpus.tenantId, corpus: corpus.name };
  return context.database.write("adder", by, limits, async (transaction) => {
    const first = context.once && (await claimFirst<AddResult>(transaction, context.once, result));
    if (first !== undefined) return first;
    const before = await lock(transaction, corpus, context.create);
    // Once the lock is held: a revocation that was committed before is seen, and one that comes later finds these documents.
    const revoked = await transaction.query(selectRevocation(key.tenantId, by.source));
    if (revoked.length > 0) throw unauthorized("the source that this credential writes as is revoked");
    const chunks = numberChunks(prepared, vectors, before.nextChunk);
    const counts = await replace(transaction, key, before, prepared, chunks, context);
    const change = {
      token: result.indexVersion,
      action: "add",
      documents: prepared.length,
      issuer: by.issuer,
      subject: by.subject,
      tokenId: by.tokenId,
    } as const;
    await recordChange(transaction, key, before, change, counts);
    return result;
  });
}

/**
 * Writes the documents in place of what has their ids: that is closed before new rows come (DESIGN section 4).
 *
 * @returns what that adds to the live counts
 * @throws RpcError -32013 when it is more than the tenant may have
 */
async function replace(
  transaction: TenantTransaction,
  key: documents.CorpusKey,
  before: documents.LockedCorpus,
  prepared: readonly PreparedDocument[],
  chunks: NumberedChunks,
  { by, fields, quotas }: AddContext,
): Promise<CountChange> {
  const version = before.version + 1;
  const rows = prepared.map((one) => one.row);
  const docIds = rows.map((row) => row.docId);
  const closed = await transaction.query(documents.closeDocuments(key, docIds, version));
  const change = {
    documents: rows.length - closed.length,
    textBytes: sumOf(rows.map((row) => row.textBytes)) - sumOf(closed),
  };
  await checkQuotas(transaction, key.tenantId, quotas, change);
  await transaction.query(documents.insertDocuments(key, version, by, rows));
  await transaction.query(documents.insertTexts(key, version, rows));
  const [gone = { chunks: 0, length: 0 }] =
    closed.length === 0 ? [] : await transaction.query(documents.closeChunks(key, before, docIds, version));
  if (chunks.rows.length > 0) {
    await transaction.query(documents.insertChunks(key, before.placement, version, [...fields.values()], chunks.rows));
    await transaction.query(appendPostings(key.tenantId, key.corpus, chunks.postings));
  }
  return {
    ...change,
    chunks: chunks.rows.length - gone.chunks,
    length: chunks.length - gone.length,
    numbers: chunks.rows.length,
  };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/**
 * Locks the corpus, making it first where that is allowed.
 *
 * @throws RpcError -32012 when it is not there, -32010 or -32016 when somebody made it with other settings in the meantime
 */
async function lock(
  transaction: TenantTransaction,
  corpus: Corpus,
  create: AddContext["create"],
): Promise<documents.LockedCorpus> {
  if (create === "tenant and corpus") await transaction.query(createTenant(corpus.tenantId));
  if (create !== "nothing") await transaction.query(createCorpus(corpus));
  const [locked] = await transaction.query(documents.lockCorpus({ tenantId: corpus.tenantId, corpus: corpus.name }));
  if (locked === undefined) throw unauthorized();
  checkSpace({ ...corpus, space: locked.space }, corpus.space);
  if (locked.language !== corpus.language || locked.screening !== corpus.screening)
    throw conflict("the corpus was made with other settings meanwhile; send it again");
  return locked;
}
