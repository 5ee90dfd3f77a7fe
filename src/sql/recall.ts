import type { Corpus, FilterField } from "../catalog/corpus.ts";
import type { ResolvedFilter } from "../plan/filter.ts";
import type { Unit } from "../protocol/wire.ts";
import { filterToCondition } from "./filter.ts";
import { isNoSurplus, type Surplus } from "./near-duplicates.ts";
import { isIn, type Place } from "./place.ts";
import { compile, identifier, integer, noRows, type Sql, type Statement, sql } from "./sql.ts";
import { vectorLiteral } from "./vector-literal.ts";
import { type ReadPoint, visibleAt } from "./visible.ts";

/** The statements of the recall stage. Each names its tenant itself, besides the policy that also does. */

/** The state of the corpus that a retrieve reads; no row when the corpus was never written or the pin is unknown. */
export interface CorpusState {
  readonly version: number;
  readonly token: string;
  /** Epoch milliseconds. */
  readonly committedAt: number;
  readonly liveChunks: number;
  readonly liveLength: number;
  /** Chunks of later versions have this number or a higher one. */
  readonly nextChunk: number;
  /** Where its chunks are in this snapshot. */
  readonly place: Place;
}

/** A chunk as recall finds it. */
export interface DenseRow {
  readonly chunkNo: number;
  readonly docId: string;
  readonly ordinal: number;
  /** 128 times 0 or 1, by which near-duplicates are told; undefined where the chunk has none. */
  readonly print: string | undefined;
  /** Cosine similarity, -1 to 1. */
  readonly similarity: number;
}

/** The versions of a corpus, `v`. */
export const versionsOf = (corpus: Corpus): Sql => sql`v.tenant_id = ${corpus.tenantId} and v.corpus = ${corpus.name}`;

/** The chunks of a corpus. */
export const ofCorpus = (corpus: Corpus): Sql =>
  sql`tenant_id = ${corpus.tenantId} and corpus = ${corpus.name} and placement${isIn(corpus)}`;

/** Which chunks count besides being visible. */
export interface Restriction {
  readonly filter?: ResolvedFilter | undefined;
  readonly surplus?: Surplus | undefined;
}

export const isRestricted = ({ filter, surplus }: Restriction): boolean =>
  filter !== undefined || surplus !== undefined;

/** The chunks that count, after another condition. */
export const matching = ({ filter, surplus }: Restriction): Sql => {
  const passing = filter === undefined ? sql`` : sql` and ${filterToCondition(filter)}`;
  return surplus === undefined ? passing : sql`${passing} and ${isNoSurplus(surplus)}`;
};

export function corpusState(corpus: Corpus, at: ReadPoint): Statement<CorpusState> {
  const which = at.pin === undefined ? sql`order by v.version desc limit 1` : sql`and v.token = ${at.pin}`;
  return compile(
    sql`select v.*, c.placement, c.moving_from from pgrcp.corpora c cross join (select v.version, v.token, v.committed_at, v.live_chunks, v.live_length, v.next_chunk from pgrcp.corpus_versions v where ${versionsOf(corpus)} ${which}) v where c.tenant_id = ${corpus.tenantId} and c.corpus = ${corpus.name}`,
    (row) => ({
      version: row.version as number,
      token: row.token as string,
      committedAt: (row.committed_at as Date).getTime(),
      liveChunks: row.live_chunks as number,
      liveLength: row.live_length as number,
      nextChunk: row.next_chunk as number,
      place: { placement: row.placement as string, movingFrom: (row.moving_from as string | null) ?? undefined },
    }),
  );
}

const denseRow = (row: Readonly<Record<string, unknown>>): DenseRow => ({
  chunkNo: row.chunk_no as number,
  docId: row.doc_id as string,
  ordinal: row.ordinal as number,
  print: (row.fingerprint as string | null) ?? undefined,
  similarity: row.similarity as number,
});

/**
 * The nearest chunks by cosine, best first; ties by document id in UTF-8 order, then ordinal. Always exact: `+ 0` keeps the
 * planner from an approximate index. The distance stands there once, because it is most of the work and Postgres works it out
 * for each place that names it.
 */
export function nearestChunks(
  corpus: Corpus,
  at: ReadPoint,
  vector: Float32Array,
  restriction: Restriction,
  limit: number,
): Statement<DenseRow> {
  return compile(
    sql`select chunk_no, doc_id, ordinal, fingerprint, (embedding <=> ${vectorLiteral(vector)}::halfvec) + 0 as distance from pgrcp.chunks where ${ofCorpus(corpus)} and ${visibleAt(at, versionsOf(corpus))}${matching(restriction)} order by distance, doc_id, ordinal limit ${limit}`,
    (row) => denseRow({ ...row, similarity: 1 - (row.distance as number) }),
  );
}

/** How a graph is searched, for the rest of a transaction: it goes on until enough rows pass, and nothing is sorted in its place. */
export function searchGraph(efSearch: number): Statement<undefined> {
  return compile(
    sql`select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', ${String(efSearch)}, true), set_config('enable_sort', 'off', true)`,
    noRows,
  );
}

/** Whoever asks what the reader's statements cost plans them in this transaction as the reader's login does (migration 0001). */
export const planAsReader: Statement<undefined> = compile(
  sql`select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`,
  noRows,
);

/**
 * Chunks that the corpus's graph leads to: nearly always the nearest, in the order of `nearestChunks`, and possibly fewer than pass the
 * filter. They come in the order of the walk, and `+ 0` has them sorted.
 */
export function chunksByGraph(
  corpus: Corpus,
  vector: Float32Array,
  filter: ResolvedFilter | undefined,
  limit: number,
): Statement<DenseRow> {
  const type = sql`halfvec(${integer(corpus.space.dimension)})`;
  const distance = sql`embedding::${type} <=> ${vectorLiteral(vector)}::${type}`;
  return compile(
    sql`select chunk_no, doc_id, ordinal, fingerprint, distance from (select chunk_no, doc_id, ordinal, fingerprint, ${distance} as distance from pgrcp.chunks where ${ofCorpus(corpus)} and removed_version is null${matching({ filter })} order by distance limit ${limit}) nearest order by distance + 0, doc_id, ordinal`,
    (row) => denseRow({ ...row, similarity: 1 - (row.distance as number) }),
  );
}

/** One row: how many live chunks pass a filter, as the planner estimates it from the statistics of the corpus's own partition. */
export function estimatePassing(corpus: Corpus, filter: ResolvedFilter): Statement<number> {
  return compile(
    sql`explain (format json) select from pgrcp.chunks where ${ofCorpus(corpus)} and removed_version is null${matching({ filter })}`,
    (row) => (row["QUERY PLAN"] as [{ Plan: { "Plan Rows": number } }])[0].Plan["Plan Rows"],
  );
}

/** One row: how many live chunks pass a filter, counted up to a limit. */
export function countPassing(corpus: Corpus, filter: ResolvedFilter, limit: number): Statement<number> {
  return compile(
    sql`select count(*) as passing from (select from pgrcp.chunks where ${ofCorpus(corpus)} and removed_version is null${matching({ filter })} limit ${limit}) counted`,
    (row) => row.passing as number,
  );
}

/** Identity of some chunks and, given a vector, their similarity to it. */
export function chunksByNumber(
  corpus: Corpus,
  chunkNos: readonly number[],
  vector: Float32Array | undefined,
): Statement<DenseRow> {
  const similarity = vector === undefined ? sql`0::float8` : sql`1 - (embedding <=> ${vectorLiteral(vector)}::halfvec)`;
  // select: numbers that the planner sees it looks up in its statistics one by one, which takes as long as half of the reading.
  return compile(
    sql`select chunk_no, doc_id, ordinal, fingerprint, ${similarity} as similarity from pgrcp.chunks where ${ofCorpus(corpus)} and chunk_no = any((select ${chunkNos}::int[])::int[])`,
    denseRow,
  );
}

const documentOf = (): Sql =>
  sql`join pgrcp.documents d on d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.doc_id = c.doc_id and d.added_version = c.added_version`;

const textOf = (): Sql =>
  sql`join pgrcp.document_texts t on t.tenant_id = c.tenant_id and t.corpus = c.corpus and t.doc_id = c.doc_id and t.added_version = c.added_version`;

/** Contexts are one JSON list a document. */
const contextOf = (): Sql => sql`t.contexts ->> c.ordinal`;

const byNumber = (corpus: Corpus, chunkNos: readonly number[]): Sql =>
  sql`c.tenant_id = ${corpus.tenantId} and c.corpus = ${corpus.name} and c.placement${isIn(corpus)} and c.chunk_no = any(${chunkNos}::int[])`;

/** What a stage after recall needs to know of some chunks, one row each, in no order. */
export interface ChunkFact<Value> {
  readonly chunkNo: number;
  readonly value: Value;
}

/** Of a chunk, which may be a whole document: about the 8,000 tokens that rerankers take at most. */
const MAX_PASSAGE_CHARACTERS = 32_000;

/** How the chunks' texts begin, each with its document's title and its own context before it. */
export function chunkPassages(corpus: Corpus, chunkNos: readonly number[]): Statement<ChunkFact<string>> {
  return compile(
    sql`select c.chunk_no, d.title, ${contextOf()} as context, substr(t.body, c.start_offset + 1, least(c.end_offset - c.start_offset, ${MAX_PASSAGE_CHARACTERS}::int)) as body from pgrcp.chunks c ${documentOf()} ${textOf()} where ${byNumber(corpus, chunkNos)}`,
    ({ chunk_no, title, context, body }) => ({
      chunkNo: chunk_no as number,
      value: [...[title, context].filter((part) => part !== null && part !== ""), body].join("\n"),
    }),
  );
}

/** A date field of the chunks in epoch milliseconds; undefined where one has none. */
export function chunkDates(
  corpus: Corpus,
  chunkNos: readonly number[],
  field: FilterField,
): Statement<ChunkFact<number | undefined>> {
  const date = identifier(field.column);
  return compile(
    sql`select c.chunk_no, c.${date} as date from pgrcp.chunks c where ${byNumber(corpus, chunkNos)}`,
    (row) => ({ chunkNo: row.chunk_no as number, value: (row.date as number | null) ?? undefined }),
  );
}

/** The chunks' vectors. */
export function chunkVectors(corpus: Corpus, chunkNos: readonly number[]): Statement<ChunkFact<Float32Array>> {
  return compile(
    sql`select c.chunk_no, c.embedding::text as vector from pgrcp.chunks c where ${byNumber(corpus, chunkNos)}`,
    (row) => ({
      chunkNo: row.chunk_no as number,
      value: Float32Array.from(JSON.parse(row.vector as string) as number[]),
    }),
  );
}

/** What a hit shows of a chunk and its document. */
export interface HitRow {
  readonly chunkNo: number;
  readonly docId: string;
  readonly ordinal: number;
  readonly chunkCount: number;
  readonly start: number;
  readonly end: number;
  readonly text: string | undefined;
  /** Shown with the text. */
  readonly context: string | undefined;
  readonly vector: readonly number[] | undefined;
  readonly title: string | undefined;
  readonly uri: string | undefined;
  readonly source: string;
  readonly trust: "trusted" | "community" | "untrusted";
  readonly injectionSuspected: boolean;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** What of a hit is read: texts and vectors only when they are shown or counted. */
export interface HitFields {
  readonly unit: Unit;
  /** Of all texts together: from where they would be more there is none, but always the first. 0 = no text at all. */
  readonly maxCharacters: number;
  readonly vector: boolean;
}

/**
 * The final hits' rows, in no order. A document's row is that of the chunk that it was found by, but for text and offsets, which
 * are the whole document's.
 *
 * @param chunkNos best first
 */
export function hitRows(corpus: Corpus, chunkNos: readonly number[], show: HitFields): Statement<HitRow> {
  const isWhole = show.unit === "document";
  const hasText = show.maxCharacters > 0;
  const piece = isWhole ? sql`t.body` : sql`substr(t.body, c.start_offset + 1, c.end_offset - c.start_offset)`;
  const length = isWhole ? sql`char_length(t.body)` : sql`c.end_offset - c.start_offset`;
  // CASE: a text that is not given is not fetched from where long ones are kept.
  const text = hasText
    ? sql`case when row_number() over ranked = 1 or sum(${length}) over ranked <= ${show.maxCharacters}::bigint then ${piece} end`
    : sql`null::text`;
  const context = hasText ? contextOf() : sql`null::text`;
  const vector = show.vector ? sql`c.embedding::text` : sql`null::text`;
  const offsets = isWhole
    ? sql`0 as start_offset, char_length(t.body) as end_offset`
    : sql`c.start_offset, c.end_offset`;
  const texts = hasText || isWhole ? sql` ${textOf()}` : sql``;
  const ranked = hasText ? sql` window ranked as (order by array_position(${chunkNos}::int[], c.chunk_no))` : sql``;
  return compile(
    sql`select c.chunk_no, c.doc_id, c.ordinal, d.chunk_count, ${offsets}, ${text} as body, ${context} as context, ${vector} as vector, d.title, d.uri, d.source, d.trust, d.injection_suspected, d.meta from pgrcp.chunks c ${documentOf()}${texts} where ${byNumber(corpus, chunkNos)}${ranked}`,
    (row) => ({
      chunkNo: row.chunk_no as number,
      docId: row.doc_id as string,
      ordinal: row.ordinal as number,
      chunkCount: row.chunk_count as number,
      start: row.start_offset as number,
      end: row.end_offset as number,
      text: (row.body as string | null) ?? undefined,
      context: (row.context as string | null) || undefined,
      vector: row.vector === null ? undefined : (JSON.parse(row.vector as string) as number[]),
      title: (row.title as string | null) ?? undefined,
      uri: (row.uri as string | null) ?? undefined,
      source: row.source as string,
      trust: row.trust as HitRow["trust"],
      injectionSuspected: row.injection_suspected as boolean,
      meta: row.meta as Record<string, unknown>,
    }),
  );
}
