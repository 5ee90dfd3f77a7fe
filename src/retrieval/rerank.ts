import type { TenantId } from "../catalog/corpus.ts";
import type { Reranker } from "../models/reranker.ts";
import { compareScored, type ScoredCandidate } from "./candidate.ts";

/**
 * Scores candidates anew, each by its passage; the reranker's score takes the place of the one before.
 *
 * @param passages by chunk number, as the embedding model read them; a candidate without one is left out
 * @returns best first; ties by document id in UTF-8 order, then ordinal
 * @param party whose turn it takes
 * @throws RpcError -32010 when the provider fails; the signal's reason when it aborts
 */
export async function rerank(
  candidates: readonly ScoredCandidate[],
  passages: ReadonlyMap<number, string>,
  query: string,
  reranker: Reranker,
  signal: AbortSignal,
  party?: TenantId,
): Promise<ScoredCandidate[]> {
  const asked = candidates.filter(({ chunkNo }) => passages.has(chunkNo));
  if (asked.length === 0) return [];
  const texts = asked.map(({ chunkNo }) => passages.get(chunkNo) ?? "");
  const scores = await reranker.score(query, texts, signal, party);
  return asked
    .map((candidate, index) => {
      const score = scores[index];
      if (score === undefined) throw new Error("the reranker gave fewer scores than passages");
      return { ...candidate, score, rerank: score };
    })
    .sort(compareScored);
}
