import type { Corpus } from "../catalog/corpus.ts";
import type { GraphWalk } from "../plan/choose-path.ts";
import type { ResolvedFilter } from "../plan/filter.ts";
import { filterToCondition } from "./filter.ts";
import { halfvecBytes } from "./halfvec.ts";
import { isNoSurplus, type Surplus } from "./near-duplicates.ts";
import { isIn, type Place, plannedIn } from "./place.ts";
import { type FirstHits, type HitRow, hitRow, sourceColumns, withFirstHits } from "./ranked-chunks.ts";
import { compile, integer, noRows, plannedOnce, type Sql, type Statement, sql } from "./sql.ts";
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
  /** What a hit shows of it, where that was asked for. */
  readonly hit?: HitRow | undefined;
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
  return plannedOnce(
    compile(
      sql`select v.*, c.placement, c.moving_from from pgrcp.corpora c cross join (select v.version, v.token, date_part('epoch', v.committed_at) * 1000 as committed_at, v.live_chunks, v.live_length, v.next_chunk from pgrcp.corpus_versions v where ${versionsOf(corpus)} ${which}) v where c.tenant_id = ${corpus.tenantId} and c.corpus = ${corpus.name}`,
      (row) => ({
        version: row.version as number,
        token: row.token as string,
        committedAt: row.committed_at as number,
        liveChunks: row.live_chunks as number,
        liveLength: row.live_length as number,
        nextChunk: row.next_chunk as number,
        place: { placement: row.placement as string, movingFrom: (row.moving_from as string | null) ?? undefined },
      }),
    ),
  );
}

const CHUNK = sql`chunk_no, doc_id, ordinal, fingerprint`;

const denseRow = (row: Readonly<Record<string, unknown>>): DenseRow => ({
  chunkNo: row.chunk_no as number,
  docId: row.doc_id as string,
  ordinal: row.ordinal as number,
  print: (row.fingerprint as string | null) ?? undefined,
  similarity: row.similarity as number,
});

const nearRow = (row: Readonly<Record<string, unknown>>): DenseRow =>
  denseRow({ ...row, similarity: 1 - (row.distance as number) });

/** The first rows alone have a document. */
const nearRowWithHit = (row: Readonly<Record<string, unknown>>): DenseRow => ({
  ...nearRow(row),
  hit: row.chunk_count === null ? undefined : hitRow(row),
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
  hits?: FirstHits,
): Statement<DenseRow> {
  const order = sql`distance, doc_id, ordinal`;
  const nearest = sql`select ${CHUNK}${alsoOf(hits)}, (embedding <=> ${halfvecBytes(vector)}::halfvec) + 0 as distance from pgrcp.chunks where ${ofCorpus(corpus)} and ${visibleAt(at, versionsOf(corpus))}${matching(restriction)} order by ${order} limit ${atMost(limit, hits)}`;
  const statement = hits === undefined ? compile(nearest, nearRow) : compileWithHits(corpus, nearest, order, hits);
  return plannedIn(corpus, statement, isRestricted(restriction));
}

/**
 * In the text where documents are joined: of a parameter the planner takes it to be a tenth of the corpus, and of a parallel worker's
 * part in a plan of those, which then seems the cheapest and takes more than twice as long.
 */
const atMost = (limit: number, hits: FirstHits | undefined): Sql =>
  hits === undefined ? sql`${limit}` : integer(limit);

const alsoOf = (hits: FirstHits | undefined): Sql => (hits === undefined ? sql`` : sql`, ${sourceColumns(hits)}`);

const compileWithHits = (corpus: Corpus, nearest: Sql, order: Sql, hits: FirstHits): Statement<DenseRow> =>
  compile(
    withFirstHits(corpus, nearest, sql`c.chunk_no, c.doc_id, c.ordinal, c.fingerprint, c.distance`, order, hits),
    nearRowWithHit,
  );

/** How a graph is searched, for the rest of a transaction, in which nothing is sorted in its place. */
export function searchGraph({ efSearch, isIterative }: GraphWalk): Statement<undefined> {
  return plannedOnce(
    compile(
      sql`select set_config('hnsw.iterative_scan', ${isIterative ? "relaxed_order" : "off"}, true), set_config('hnsw.ef_search', ${String(efSearch)}, true), set_config('enable_sort', 'off', true)`,
      noRows,
    ),
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
  hits?: FirstHits,
): Statement<DenseRow> {
  const type = sql`halfvec(${integer(corpus.space.dimension)})`;
  const distance = sql`embedding::${type} <=> ${halfvecBytes(vector)}::${type}`;
  const order = sql`distance + 0, doc_id, ordinal`;
  const nearest = sql`select ${CHUNK}${alsoOf(hits)}, ${distance} as distance from pgrcp.chunks where ${ofCorpus(corpus)} and removed_version is null${matching({ filter })} order by distance limit ${atMost(limit, hits)}`;
  const statement =
    hits === undefined
      ? compile(sql`select ${CHUNK}, distance from (${nearest}) nearest order by ${order}`, nearRow)
      : compileWithHits(corpus, nearest, order, hits);
  return plannedIn(corpus, statement, filter !== undefined);
}

/**
 * Chunks that the graph leads to on the other side of the query from some that it has led to: in the direction from their middle to the query, where
 * another cluster may be as near.
 *
 * @param found numbers of chunks near the query
 */
export function chunksBeyond(
  corpus: Corpus,
  vector: Float32Array,
  found: readonly number[],
  filter: ResolvedFilter | undefined,
  limit: number,
): Statement<{ readonly chunkNo: number; readonly similarity: number }> {
  const type = sql`halfvec(${integer(corpus.space.dimension)})`;
  const query = sql`${halfvecBytes(vector)}::${type}`;
  const middle = sql`avg(embedding::${type})::${type}`;
  const direction = sql`select (l2_normalize(${query}) - l2_normalize(${middle}))::${type} from pgrcp.chunks where ${ofCorpus(corpus)} and chunk_no = any((select ${found}::int[])::int[])`;
  const statement = compile(
    sql`select chunk_no, embedding::${type} <=> ${query} as distance from pgrcp.chunks where ${ofCorpus(corpus)} and removed_version is null${matching({ filter })} order by embedding::${type} <=> (${direction}) limit ${limit}`,
    (row) => ({ chunkNo: row.chunk_no as number, similarity: 1 - (row.distance as number) }),
  );
  return plannedIn(corpus, statement, filter !== undefined);
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
  const similarity = vector === undefined ? sql`0::float8` : sql`1 - (embedding <=> ${halfvecBytes(vector)}::halfvec)`;
  // select: numbers that the planner sees it looks up in its statistics one by one, which takes as long as half of the reading.
  return plannedIn(
    corpus,
    compile(
      sql`select chunk_no, doc_id, ordinal, fingerprint, ${similarity} as similarity from pgrcp.chunks where ${ofCorpus(corpus)} and chunk_no = any((select ${chunkNos}::int[])::int[])`,
      denseRow,
    ),
  );
}
