import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
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
import { type Quotas, selectOwnQuotas } from "../sql/quotas.ts";
import { selectRevocation } from "../sql/revocations.ts";
import type { Statement } from "../sql/sql.ts";
import { createTenant } from "../sql/tenants.ts";
import { checkQuotas } from "./check-quotas.ts";
import { embedInBatches } from "./embed-batches.ts";
import { type FetchContext, fetchBodies } from "./fetch-bodies.ts";
import { claimFirst, findFirst, type OnceWrite } from "./first-result.ts";
import { type GatheredChunks, gatherChunks, type NumberedChunks, numberChunks } from "./number-chunks.ts";
import { type CutDocument, cutDocument, type PreparedDocument, prepareDocument } from "./prepare-document.ts";
import { recordChange } from "./record-change.ts";
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
    await nextTurn(); // long documents must not hold up other requests together
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

  const chunks = await gatherChunks(prepared, vectors);
  const result = { ids, chunks: chunks.rows.length, indexVersion: versionToken(), notes };
  const rows = prepared.map(({ row }) => row);
  return await write(result, rows, chunks, corpus, context, limits());
}

function situate(documents: readonly CutDocument[], context: AddContext, notes: string[]) {
  const { contexts, embedding, limits, by } = context;
  if (contexts === undefined) throw new Error("contexts are not planned where nothing writes them");
  return situateChunks(documents, { ...contexts, embedding, tenantId: by.tenantId, signal: limits.signal, notes });
}

/** @returns the result; that of the first write with the same key when there was one, and then nothing is written */
function write(
  result: AddResult & { readonly indexVersion: string },
  rows: readonly documents.DocumentRow[],
  chunks: GatheredChunks,
  corpus: Corpus,
  context: AddContext,
  limits: StatementLimits,
): Promise<AddResult> {
  const { by } = context;
  const key = { tenantId: corpus.tenantId, corpus: corpus.name };
  return context.database.write("adder", by, limits, async (transaction) => {
    const first = context.once && (await claimFirst<AddResult>(transaction, context.once, result));
    if (first !== undefined) return first;
    const before = await lock(transaction, corpus, context);
    await replace(transaction, key, before, result.indexVersion, rows, chunks, context);
    return result;
  });
}

/**
 * Writes the documents in place of what has their ids, which is closed before new rows come (DESIGN section 4), as the corpus's next
 * version. Nobody else writes to the corpus meanwhile, so what does not wait for another's answer shares a round trip.
 *
 * @param token of the version
 * @throws RpcError -32013 when it is more than the tenant may have
 */
async function replace(
  transaction: TenantTransaction,
  key: documents.CorpusKey,
  before: documents.LockedCorpus,
  token: string,
  rows: readonly documents.DocumentRow[],
  chunks: GatheredChunks,
  { by, fields, quotas }: AddContext,
): Promise<void> {
  const version = before.version + 1;
  const docIds = rows.map((row) => row.docId);
  const [closed, [own]] = await transaction.batch([
    documents.closeDocuments(key, docIds, version),
    selectOwnQuotas(key.tenantId),
  ]);
  const change = {
    documents: rows.length - closed.length,
    textBytes: sumOf(rows.map((row) => row.textBytes)) - sumOf(closed),
  };
  await checkQuotas(transaction, key.tenantId, own ?? quotas, change);
  const texts = [documents.insertDocuments(key, version, by, rows), documents.insertTexts(key, version, rows)] as const;
  const [, , [gone = NONE] = []] =
    closed.length === 0
      ? await transaction.batch(texts)
      : await transaction.batch([...texts, documents.closeChunks(key, before, docIds, version)]);
  const counts = {
    ...change,
    chunks: chunks.rows.length - gone.chunks,
    length: chunks.length - gone.length,
    numbers: chunks.rows.length,
  };
  const { issuer, subject, tokenId } = by;
  const made = { token, action: "add", documents: rows.length, issuer, subject, tokenId } as const;
  const inserts = insertsOf(numberChunks(chunks, before.nextChunk), key, before.placement, version, fields);
  await recordChange(transaction, key, before, made, counts, inserts);
}

const insertsOf = (
  { rows, postings }: NumberedChunks,
  key: documents.CorpusKey,
  placement: string,
  version: number,
  fields: FilterFields,
): readonly Statement[] =>
  rows.length === 0
    ? []
    : [
        documents.insertChunks(key, placement, version, [...fields.values()], rows),
        appendPostings(key.tenantId, key.corpus, postings),
      ];

const NONE = { chunks: 0, length: 0 };

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/**
 * Locks the corpus, making it first where that is allowed.
 *
 * @throws RpcError -32012 when it is not there or the source is revoked, -32010 or -32016 when somebody made it with other settings in the
 *   meantime
 */
async function lock(
  transaction: TenantTransaction,
  corpus: Corpus,
  { create, by }: AddContext,
): Promise<documents.LockedCorpus> {
  const { tenantId } = corpus;
  if (create === "tenant and corpus") await transaction.query(createTenant(tenantId));
  if (create !== "nothing") await transaction.query(createCorpus(corpus));
  // In this order: a revocation that was committed before the lock was had is seen, and one that comes later finds these documents.
  const [[locked], revoked] = await transaction.batch([
    documents.lockCorpus({ tenantId, corpus: corpus.name }),
    selectRevocation(tenantId, by.source),
  ]);
  if (locked === undefined) throw unauthorized();
  checkSpace({ ...corpus, space: locked.space }, corpus.space);
  if (locked.language !== corpus.language || locked.screening !== corpus.screening)
    throw conflict("the corpus was made with other settings meanwhile; send it again");
  if (revoked.length > 0) throw unauthorized("the source that this credential writes as is revoked");
  return locked;
}
