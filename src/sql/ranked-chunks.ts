import type { Corpus, FilterField } from "../catalog/corpus.ts";
import type { Unit } from "../protocol/wire.ts";
import { readVector } from "./halfvec.ts";
import { isIn, plannedIn } from "./place.ts";
import { compile, identifier, type Sql, type Statement, sql } from "./sql.ts";

/** What the stages after recall read of the chunks that it found. Each statement names its tenant itself. */

/**
 * A table's row for a document of `c`, to stand behind `join lateral`. `offset 0` keeps it a query of its own, which is asked by the whole
 * key, once for each chunk: a join of tables that nobody analysed yet may be planned with any of them first and with part of a key.
 */
const rowOf = (corpus: Corpus, table: Sql, docId: Sql): Sql =>
  sql`(select * from ${table} where tenant_id = ${corpus.tenantId} and corpus = ${corpus.name} and doc_id = ${docId} and added_version = c.added_version offset 0)`;

const documentOf = (corpus: Corpus, docId: Sql): Sql => sql`lateral ${rowOf(corpus, sql`pgrcp.documents`, docId)} d`;

const textOf = (corpus: Corpus, docId: Sql): Sql => sql`lateral ${rowOf(corpus, sql`pgrcp.document_texts`, docId)} t`;

/** Contexts are one JSON list a document. */
const contextOf = (): Sql => sql`t.contexts ->> c.ordinal`;

const byNumber = (corpus: Corpus, chunkNos: readonly number[]): Sql =>
  sql`c.tenant_id = ${corpus.tenantId} and c.corpus = ${corpus.name} and c.placement${isIn(corpus)} and c.chunk_no = any(${chunkNos}::int[])`;

/** One row: the number of a live document's chunk. */
export function chunkOfDocument(corpus: Corpus, docId: string, ordinal: number): Statement<number> {
  return plannedIn(
    corpus,
    compile(
      sql`select c.chunk_no from pgrcp.chunks c where c.tenant_id = ${corpus.tenantId} and c.corpus = ${corpus.name} and c.placement${isIn(corpus)} and c.doc_id = ${docId} and c.ordinal = ${ordinal} and c.removed_version is null`,
      (row) => row.chunk_no as number,
    ),
  );
}

/** What a stage after recall needs to know of some chunks, one row each, in no order. */
export interface ChunkFact<Value> {
  readonly chunkNo: number;
  readonly value: Value;
}

/** Of a chunk, which may be a whole document: about the 8,000 tokens that rerankers take at most. */
const MAX_PASSAGE_CHARACTERS = 32_000;

/** How the chunks' texts begin, each with its document's title and its own context before it. */
export function chunkPassages(corpus: Corpus, chunkNos: readonly number[]): Statement<ChunkFact<string>> {
  return plannedIn(
    corpus,
    compile(
      sql`select c.chunk_no, d.title, ${contextOf()} as context, substr(t.body, c.start_offset + 1, least(c.end_offset - c.start_offset, ${MAX_PASSAGE_CHARACTERS}::int)) as body from pgrcp.chunks c cross join ${documentOf(corpus, sql`c.doc_id`)} cross join ${textOf(corpus, sql`c.doc_id`)} where ${byNumber(corpus, chunkNos)}`,
      ({ chunk_no, title, context, body }) => ({
        chunkNo: chunk_no as number,
        value: [...[title, context].filter((part) => part !== null && part !== ""), body].join("\n"),
      }),
    ),
  );
}

/** A date field of the chunks in epoch milliseconds; undefined where one has none. */
export function chunkDates(
  corpus: Corpus,
  chunkNos: readonly number[],
  field: FilterField,
): Statement<ChunkFact<number | undefined>> {
  const date = identifier(field.column);
  return plannedIn(
    corpus,
    compile(
      sql`select c.chunk_no, c.${date} as date from pgrcp.chunks c where ${byNumber(corpus, chunkNos)}`,
      (row) => ({ chunkNo: row.chunk_no as number, value: (row.date as number | null) ?? undefined }),
    ),
  );
}

/** The chunks' vectors. */
export function chunkVectors(corpus: Corpus, chunkNos: readonly number[]): Statement<ChunkFact<Float32Array>> {
  return plannedIn(
    corpus,
    compile(
      sql`select c.chunk_no, c.embedding::text as vector from pgrcp.chunks c where ${byNumber(corpus, chunkNos)}`,
      (row) => ({
        chunkNo: row.chunk_no as number,
        value: Float32Array.from(readVector(row.vector as string)),
      }),
    ),
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
  const order = sql`array_position(${chunkNos}::int[], c.chunk_no)`;
  const texts = needsTexts(show) ? sql` cross join ${textOf(corpus, sql`c.doc_id`)}` : sql``;
  return plannedIn(
    corpus,
    compile(
      sql`select c.chunk_no, c.doc_id, c.ordinal, ${hitColumns(show)} from pgrcp.chunks c cross join ${documentOf(corpus, sql`c.doc_id`)}${texts} where ${byNumber(corpus, chunkNos)}${rankedBy(order, show)}`,
      hitRow,
    ),
  );
}

/** The first of a ranked list, as hits. */
export interface FirstHits {
  readonly count: number;
  readonly show: HitFields;
}

/** Columns of `pgrcp.chunks` by which a hit's are found. */
export const sourceColumns = ({ show }: FirstHits): Sql =>
  sql`added_version, start_offset, end_offset${show.vector ? sql`, embedding` : sql``}`;

/**
 * Ranked chunks, each with its place, and the first of them with what a hit shows.
 *
 * @param nearest rows with `columns`, `sourceColumns` and `distance`
 * @param columns of `c`
 */
export function withFirstHits(corpus: Corpus, nearest: Sql, columns: Sql, order: Sql, { count, show }: FirstHits): Sql {
  const place = sql`row_number() over (order by ${order})`;
  // NULL is found in no index: beyond the first nothing is read.
  const shown = sql`case when c.place <= ${count}::bigint then c.doc_id end`;
  const texts = needsTexts(show) ? sql` left join ${textOf(corpus, shown)} on true` : sql``;
  return sql`select ${columns}, ${hitColumns(show)} from (select *, ${place} as place from (${nearest}) nearest) c left join ${documentOf(corpus, shown)} on true${texts}${rankedBy(sql`c.place`, show)} order by c.place`;
}

const needsTexts = ({ unit, maxCharacters }: HitFields): boolean => maxCharacters > 0 || unit === "document";

/** The window that `hitColumns` counts texts in. */
const rankedBy = (order: Sql, { maxCharacters }: HitFields): Sql =>
  maxCharacters > 0 ? sql` window ranked as (order by ${order})` : sql``;

/** What a hit shows of a chunk `c`, its document `d` and, if it is needed, its text `t`. */
function hitColumns(show: HitFields): Sql {
  const isWhole = show.unit === "document";
  const hasText = show.maxCharacters > 0;
  const piece = isWhole ? sql`t.body` : sql`substr(t.body, c.start_offset + 1, c.end_offset - c.start_offset)`;
  const length = isWhole ? sql`char_length(t.body)` : sql`c.end_offset - c.start_offset`;
  // CASE: a text that is not given is not fetched from where long ones are kept.
  const text = hasText
    ? sql`case when row_number() over ranked = 1 or sum(${length}) over ranked <= ${show.maxCharacters}::bigint then ${piece} end`
    : sql`null::text`;
  const context = hasText ? contextOf() : sql`null::text`;
  const vector = show.vector ? sql`case when d.doc_id is not null then c.embedding::text end` : sql`null::text`;
  const offsets = isWhole
    ? sql`0 as start_offset, char_length(t.body) as end_offset`
    : sql`c.start_offset, c.end_offset`;
  return sql`d.chunk_count, ${offsets}, ${text} as body, ${context} as context, ${vector} as vector, d.title, d.uri, d.source, d.trust, d.injection_suspected, d.meta`;
}

export const hitRow = (row: Readonly<Record<string, unknown>>): HitRow => ({
  chunkNo: row.chunk_no as number,
  docId: row.doc_id as string,
  ordinal: row.ordinal as number,
  chunkCount: row.chunk_count as number,
  start: row.start_offset as number,
  end: row.end_offset as number,
  text: (row.body as string | null) ?? undefined,
  context: (row.context as string | null) || undefined,
  vector: row.vector === null ? undefined : readVector(row.vector as string),
  title: (row.title as string | null) ?? undefined,
  uri: (row.uri as string | null) ?? undefined,
  source: row.source as string,
  trust: row.trust as HitRow["trust"],
  injectionSuspected: row.injection_suspected as boolean,
  meta: row.meta as Record<string, unknown>,
});
