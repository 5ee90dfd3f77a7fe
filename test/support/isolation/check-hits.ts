import type { ResolvedFilter } from "../../../src/plan/filter.ts";
import type { Hit, RetrieveMode, RetrieveResult, Unit } from "../../../src/protocol/wire.ts";
import { evaluateFilter } from "../evaluate-filter.ts";
import type { CorpusModel } from "./corpus-model.ts";
import type { SentDocument } from "./sent-documents.ts";

/** What a retrieve asked for, as far as its answer depends on it. */
export interface Asked {
  readonly query: string;
  readonly mode: RetrieveMode;
  readonly k: number;
  readonly filter: ResolvedFilter | undefined;
  readonly minScore: number | undefined;
  readonly includeText: boolean;
  readonly includeVectors: boolean;
  readonly unit: Unit;
  /** Ordered by more than the score. */
  readonly isDiverse: boolean;
  /** Cut by a number of tokens. */
  readonly isBudgeted: boolean;
  /** Since when the answer may be of; undefined when it is of a pinned version. */
  readonly since: number | undefined;
}

/** Half-precision numbers in the database against double precision here. */
const TOLERANCE = 2e-3;

const never = new AbortController().signal;

/**
 * What is wrong with an answer, given all that this tenant ever wrote there.
 *
 * Every hit must be a piece of a document that the tenant sent under that id; a document that did not change meanwhile must be in
 * the one state that it has; and a dense answer that was not cut must hold every such document, whole.
 */
export async function checkHits(result: RetrieveResult, asked: Asked, model: CorpusModel): Promise<string[]> {
  const { hits } = result;
  const problems = hits.flatMap((hit) => checkHit(hit, asked, model));
  if (new Set(hits.map(({ chunk }) => `${chunk.docId}#${chunk.index}`)).size !== hits.length)
    problems.push("foreign row: a chunk is there twice");
  if (hits.length > asked.k) problems.push("wrong answer: more hits than k");
  if (!asked.isDiverse && !isRanked(hits)) problems.push("wrong answer: hits are not in order");
  const isOfChunks = asked.unit === "chunk";
  if (asked.includeVectors && asked.includeText && isOfChunks)
    problems.push(...(await checkVectors(hits, asked, model)));

  const isUncut = hits.length < asked.k && asked.minScore === undefined && !asked.isBudgeted;
  const isWhole = asked.mode === "dense" && isUncut && isOfChunks;
  if (!isWhole) return problems;
  if (result.usage.candidates !== hits.length) problems.push("foreign count: candidates that are no hits");
  if (asked.includeText) problems.push(...checkWhole(hits, model));
  if (asked.since !== undefined) problems.push(...checkComplete(hits, asked, asked.since, model));
  return problems;
}

function checkHit(hit: Hit, asked: Asked, model: CorpusModel): string[] {
  const document = model.sent(hit.chunk.docId, hit.meta.v);
  if (document === undefined) return ["foreign row: never sent by this tenant under that id"];
  if (JSON.stringify(hit.meta) !== JSON.stringify(document.meta)) return ["foreign row: another tenant's meta"];
  const problems: string[] = [];
  const isWhole = asked.unit === "document";
  if (isWhole && hit.citation.end !== document.text.length) problems.push("wrong answer: not the whole document");
  if (hit.id !== hit.chunk.docId && hit.id !== `${hit.chunk.docId}#${isWhole ? 0 : hit.chunk.index}`)
    problems.push("foreign id: not the document's");
  if (asked.includeText && hit.text !== document.text.slice(hit.citation.start, hit.citation.end))
    problems.push("foreign row: another text than was sent");
  if (hit.citation.title !== document.meta.title) problems.push("foreign row: another title than was sent");
  if (asked.filter !== undefined && !evaluateFilter(asked.filter, document.meta))
    problems.push("wrong answer: a hit that the filter excludes");
  const state = asked.since === undefined ? undefined : model.certain(document.id, asked.since);
  if (state !== undefined && state !== hit.meta.v) problems.push("foreign row: a text that is not there any more");
  if (!Number.isFinite(hit.score)) problems.push("wrong answer: a score that is no number");
  return problems;
}

const isRanked = (hits: readonly Hit[]): boolean =>
  hits.every((hit, index) => index === 0 || (hits[index - 1]?.score ?? 0) >= hit.score);

/** A hit's vector is that of its own text, and its dense score the cosine of both. */
async function checkVectors(
  hits: readonly Hit[],
  { query, mode }: Asked,
  { embedding }: CorpusModel,
): Promise<string[]> {
  const texts = hits.map(({ citation, text }) => `${citation.title}\n${text}`);
  const [asked] = await embedding.embed([query], "query", never);
  const own = await embedding.embed(texts, "document", never);
  return hits.flatMap(({ vector, scores }, index) => {
    const expected = own[index] ?? new Float32Array();
    const isOwn = vector?.every((value, place) => Math.abs(value - (expected[place] ?? 0)) < TOLERANCE);
    if (isOwn !== true) return ["foreign row: the vector of another text"];
    const cosine = [...expected].reduce((sum, value, place) => sum + value * (asked?.[place] ?? 0), 0);
    const isScored = mode === "sparse" || Math.abs((scores.dense ?? Number.NaN) - cosine) < 2 * TOLERANCE;
    return isScored ? [] : ["wrong answer: a dense score that is not the cosine"];
  });
}

/** Every document that is there has all its chunks. */
function checkWhole(hits: readonly Hit[], model: CorpusModel): string[] {
  return [...Map.groupBy(hits, ({ chunk }) => chunk.docId)].flatMap(([id, chunks]) => {
    const document = model.sent(id, chunks[0]?.meta.v);
    return document === undefined || coversText(chunks, document) ? [] : ["partial write: some of a document's chunks"];
  });
}

function coversText(hits: readonly Hit[], { text, meta }: SentDocument): boolean {
  const chunks = hits.toSorted((a, b) => a.chunk.index - b.chunk.index);
  let end = 0;
  for (const [index, { chunk, citation, meta: shown }] of chunks.entries()) {
    if (chunk.index !== index || shown.v !== meta.v) return false;
    if (text.slice(end, citation.start).trim() !== "") return false;
    end = citation.end;
  }
  return text.slice(end).trim() === "";
}

function checkComplete(hits: readonly Hit[], asked: Asked, since: number, model: CorpusModel): string[] {
  const found = new Set(hits.map(({ chunk }) => chunk.docId));
  return model.ids().flatMap((id) => {
    const state = model.certain(id, since);
    const document = model.sent(id, state);
    const isDue = document !== undefined && (asked.filter === undefined || evaluateFilter(asked.filter, document.meta));
    return isDue && !found.has(id) ? ["wrong count: a document of this tenant is missing"] : [];
  });
}
