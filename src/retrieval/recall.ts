import type { Corpus } from "../catalog/corpus.ts";
import { queryTerms } from "../catalog/tokenize.ts";
import { checkSpace } from "../db/check-space.ts";
import { type DensePath, NEIGHBOURS } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Surplus } from "../sql/near-duplicates.ts";
import { isSamePlace } from "../sql/place.ts";
import type { FirstHits } from "../sql/ranked-chunks.ts";
import {
  type CorpusState,
  chunksByGraph,
  chunksByNumber,
  corpusState,
  type DenseRow,
  isRestricted,
  nearestChunks,
  searchGraph,
} from "../sql/recall.ts";
import { postingsOfTerms, type SparseRow } from "../sql/recall-sparse.ts";
import type { Statement } from "../sql/sql.ts";
import type { ReadPoint } from "../sql/visible.ts";
import { type Bm25Result, scoreBm25 } from "./bm25.ts";
import { type Candidate, compareIds } from "./candidate.ts";
import { ChunkSet } from "./chunk-set.ts";
import { lookUpAgain, type RetrievalContext, readChunks, readRows, statementLimits } from "./context.ts";
import { choosePath } from "./dense-path.ts";
import type { HybridRecall } from "./fuse.ts";
import { isNearest } from "./graph-trust.ts";

/** Candidates of both retrievers, and the version of the corpus that they are from. */
export interface Recall extends HybridRecall {
  readonly indexVersion: string;
  /** When that version was committed, in epoch milliseconds. */
  readonly committedAt: number;
  /** How the dense list was found; undefined where there is none. */
  readonly path: DensePath | undefined;
}

/** What is looked for. */
export interface Question {
  readonly query: string;
  /** A passage that answers the query: embedded in its place, while words are looked for as the query has them. */
  readonly passage?: string | undefined;
}

/** A plan as recall runs it. */
export interface RecallRequest extends RetrievalPlan {
  /** What there is enough of. */
  readonly surplus?: Surplus | undefined;
  /** The dense list's first chunks bring along what hits show of them. */
  readonly hits?: FirstHits | undefined;
}

const NO_SCORES: Bm25Result = { chunkNos: new Uint32Array(), scores: new Float64Array(), asked: new Float64Array() };

/** What the first round trip brings, all of one snapshot. */
interface FirstLook {
  readonly state: CorpusState;
  readonly dense: readonly DenseRow[];
  readonly sparse: readonly SparseRow[];
  readonly path: DensePath | undefined;
}

/**
 * Finds the candidates of a plan: one round trip for everything that must be of one snapshot, then BM25 in this process, then one
 * more for what the sparse list needs to know of its chunks. Rows of a version never change, so the second cannot disagree.
 *
 * @returns undefined when the corpus has no such version
 */
export async function recall(
  plan: RecallRequest,
  corpus: Corpus,
  question: Question,
  context: RetrievalContext,
): Promise<Recall | undefined> {
  const { mode } = plan.recall;
  const { query } = question;
  const isBlank = query.trim() === "";
  const vector = mode === "sparse" || isBlank ? undefined : await embedQuestion(question, corpus, context);
  const terms = mode === "dense" || isBlank ? new Map<string, number>() : queryTerms(query, corpus.language);
  const at: ReadPoint = { pin: plan.indexVersion };

  const read = <Row>(statement: Statement<Row>) => readRows(context, corpus, statement);
  const path = vector === undefined ? undefined : await choosePath(plan, corpus, context.paths, read);
  const look = await firstLook({ plan, corpus, at, vector, path, terms: [...terms.keys()] }, context);
  if (look === undefined) return undefined;
  const sparse =
    terms.size === 0
      ? NO_SCORES
      : await scoreBm25({
          terms,
          blocks: look.sparse.filter((row) => row.kind === "postings"),
          liveChunks: look.state.liveChunks,
          averageLength: look.state.liveChunks === 0 ? 0 : look.state.liveLength / look.state.liveChunks,
          nextChunk: look.state.nextChunk,
          closed: new ChunkSet(look.sparse.filter((row) => row.kind === "closed")),
          allowed: isRestricted(plan) ? new ChunkSet(look.sparse.filter((row) => row.kind === "allowed")) : undefined,
          limit: plan.candidateK,
          scoresOf: look.dense.map((row) => row.chunkNo),
          signal: context.limits.signal,
        });
  const known = new Map(look.dense.map((row) => [row.chunkNo, row]));
  const unknown = [...sparse.chunkNos].filter((chunkNo) => !known.has(chunkNo));
  if (unknown.length > 0) {
    const rows = await readChunks(context, corpus, unknown, (there) => chunksByNumber(there, unknown, vector));
    for (const row of rows) known.set(row.chunkNo, row);
  }
  const { token, committedAt } = look.state;
  return { indexVersion: token, committedAt, path: look.path, ...merge(look.dense, sparse, known, plan, mode) };
}

async function embedQuestion(
  { query, passage }: Question,
  corpus: Corpus,
  { embedding, limits, access }: RetrievalContext,
): Promise<Float32Array> {
  checkSpace(corpus, embedding.space);
  const kind = passage === undefined ? "query" : "document";
  const [vector] = await embedding.embed([passage ?? query], kind, limits.signal, access.tenantId);
  if (vector === undefined) throw new Error("the model gave no vector for the query");
  return vector;
}

interface Asked {
  readonly plan: RecallRequest;
  readonly corpus: Corpus;
  readonly at: ReadPoint;
  readonly vector: Float32Array | undefined;
  /** There is one where there is a vector. */
  readonly path: DensePath | undefined;
  readonly terms: readonly string[];
}

/** Looks again where the corpus has moved since it was looked up: in a partition that it has left there is nothing. */
async function firstLook(asked: Asked, context: RetrievalContext): Promise<FirstLook | undefined> {
  const { plan, corpus, at, vector, path, terms } = asked;
  const none: readonly Statement<never>[] = [];
  const walk = path?.search === "graph" ? [searchGraph(path)] : none; // what it sets is for all that comes after it
  const dense = vector === undefined ? none : [denseList(asked, vector)];
  const sparse = terms.length === 0 ? none : [postingsOfTerms(corpus, at, terms, plan)];
  const statements: readonly Statement<unknown>[] = [corpusState(corpus, at), ...sparse, ...walk, ...dense];

  const rows: readonly (readonly unknown[])[] = await context.database.readCorpus(
    { corpus, pin: at.pin },
    context.access,
    statements,
    statementLimits(context),
  );
  const results = rows[Symbol.iterator]();
  /** The rows of the next statement, if it was sent. */
  const take = <Row>(sent: readonly Statement<Row>[]): readonly Row[] | undefined =>
    sent.length === 0 ? undefined : (results.next().value as readonly Row[]);
  const [state] = take([corpusState(corpus, at)]) ?? [];
  const postings = take(sparse) ?? [];
  take(walk);
  const found = take(dense) ?? [];
  if (state === undefined) return undefined;
  const exactly = (why: string) => path && { search: "exact" as const, why };
  if (!isSamePlace(state.place, corpus)) {
    const there = await lookUpAgain(corpus, context);
    return await firstLook({ ...asked, corpus: there, path: exactly("the corpus was moving") }, context);
  }
  if (vector === undefined || path?.search !== "graph") return { state, dense: found, sparse: postings, path };
  if (found.length < Math.min(toldBy(plan.candidateK), state.liveChunks)) {
    const further = path.isIterative ? exactly("the graph led to too few chunks") : { ...path, isIterative: true };
    return await firstLook({ ...asked, path: further }, context);
  }
  if (!(await isNearest(found, path, plan, corpus, vector, context)))
    return await firstLook({ ...asked, path: exactly("the graph does not lead where the query is") }, context);
  return { state, dense: found.slice(0, plan.candidateK), sparse: postings, path };
}

/** A walk is believed by how its chunks lie, so there must be enough of them. */
const toldBy = (candidateK: number): number => Math.max(candidateK, NEIGHBOURS);

function denseList({ plan, corpus, at, path }: Asked, vector: Float32Array): Statement<DenseRow> {
  const { candidateK, hits } = plan;
  return path?.search === "graph"
    ? chunksByGraph(corpus, vector, plan.filter, toldBy(candidateK), hits)
    : nearestChunks(corpus, at, vector, plan, candidateK, hits);
}

/** Both lists, cut to `candidateK` in their final order, and every chunk of either with both its scores. */
function merge(
  denseRows: readonly DenseRow[],
  sparse: Bm25Result,
  known: ReadonlyMap<number, DenseRow>,
  plan: RetrievalPlan,
  mode: RetrievalPlan["recall"]["mode"],
): HybridRecall {
  const sparseScores = new Map<number, number>();
  for (const [index, row] of denseRows.entries()) sparseScores.set(row.chunkNo, sparse.asked[index] ?? 0);
  for (const [index, chunkNo] of sparse.chunkNos.entries()) sparseScores.set(chunkNo, sparse.scores[index] ?? 0);

  const toCandidate = (row: DenseRow): Candidate => ({
    chunkNo: row.chunkNo,
    docId: row.docId,
    ordinal: row.ordinal,
    print: row.print,
    dense: mode === "sparse" ? undefined : row.similarity,
    sparse: mode === "dense" ? undefined : (sparseScores.get(row.chunkNo) ?? 0),
    hit: row.hit,
  });
  const sparseList = [...sparse.chunkNos]
    .flatMap((chunkNo) => known.get(chunkNo) ?? []) // gone since the first look: purged
    .map(toCandidate)
    .sort((a, b) => (b.sparse ?? 0) - (a.sparse ?? 0) || compareIds(a, b))
    .slice(0, plan.candidateK);
  const candidates = [...denseRows.map(toCandidate), ...sparseList];
  return {
    candidates: new Map(candidates.map((candidate) => [candidate.chunkNo, candidate])),
    dense: denseRows.map((row) => row.chunkNo),
    sparse: sparseList.map((candidate) => candidate.chunkNo),
  };
}
