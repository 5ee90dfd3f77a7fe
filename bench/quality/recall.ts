import { scoreBm25 } from "../../src/retrieval/bm25.ts";
import { type Candidate, compareIds } from "../../src/retrieval/candidate.ts";
import { ChunkSet } from "../../src/retrieval/chunk-set.ts";
import type { HybridRecall } from "../../src/retrieval/fuse.ts";
import type { ChunkedCollection } from "./indexed-collection.ts";

const never = new AbortController().signal;

/** Both ranked lists of a query and every chunk of either with both its scores, as `retrieval/recall.ts` finds them by SQL. */
export async function recallFrom(
  { chunks, blocksOf, averageLength }: ChunkedCollection,
  terms: ReadonlyMap<string, number>,
  vector: Float32Array,
  candidateK: number,
): Promise<HybridRecall> {
  const similarities = chunks.map((chunk) => dot(vector, chunk.vector));
  const nearest = [...chunks.keys()]
    .sort((a, b) => (similarities[b] ?? 0) - (similarities[a] ?? 0) || a - b)
    .slice(0, candidateK);
  const sparse = await scoreBm25({
    terms,
    blocks: [...terms.keys()].flatMap((term) => blocksOf.get(term) ?? []),
    liveChunks: chunks.length,
    averageLength,
    nextChunk: chunks.length,
    closed: new ChunkSet([]),
    limit: candidateK,
    scoresOf: nearest,
    signal: never,
  });
  const scores = new Map(nearest.map((chunkNo, index) => [chunkNo, sparse.asked[index] ?? 0]));
  for (const [index, chunkNo] of sparse.chunkNos.entries()) scores.set(chunkNo, sparse.scores[index] ?? 0);
  const toCandidate = (chunkNo: number): Candidate => {
    const { docId = "", ordinal = 0 } = chunks[chunkNo] ?? {};
    const found = { dense: similarities[chunkNo] ?? 0, sparse: scores.get(chunkNo) ?? 0 };
    return { chunkNo, docId, ordinal, print: undefined, ...found };
  };
  const sparseList = [...sparse.chunkNos]
    .map(toCandidate)
    .sort((a, b) => (b.sparse ?? 0) - (a.sparse ?? 0) || compareIds(a, b))
    .slice(0, candidateK);
  const candidates = [...nearest.map(toCandidate), ...sparseList];
  return {
    candidates: new Map(candidates.map((candidate) => [candidate.chunkNo, candidate])),
    dense: nearest,
    sparse: sparseList.map(({ chunkNo }) => chunkNo),
  };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
