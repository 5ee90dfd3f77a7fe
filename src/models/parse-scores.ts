import { z } from "zod";
import { ProviderFailure } from "./provider-failure.ts";

/**
 * Rerankers compute in single precision at most. A larger number is none of their scores, and the stages after this one take
 * differences of scores, which must stay finite.
 */
const MAX_SCORE = 3.4028234663852886e38;

const scoreSchema = z.number().min(-MAX_SCORE).max(MAX_SCORE);

/** Cohere and Jina answer results with a `relevance_score`, Text Embeddings Inference a bare list with a `score`. */
const answerSchema = z.union([
  z
    .object({ results: z.array(z.object({ index: z.int(), relevance_score: scoreSchema })) })
    .transform(({ results }) => results.map(({ index, relevance_score }) => ({ index, score: relevance_score }))),
  z.array(z.object({ index: z.int(), score: scoreSchema })),
]);

/**
 * The scores in an answer to `POST …/rerank`, in the order of the passages that were sent.
 *
 * @param answer parsed JSON, otherwise unchecked
 * @throws ProviderFailure when a score is missing, doubled or no number of single precision
 */
export function parseScores(answer: unknown, count: number): number[] {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw unusable("no list of scores");
  if (parsed.data.length !== count) throw unusable(`${parsed.data.length} scores for ${count} passages`);
  const scores = new Map(parsed.data.map(({ index, score }) => [index, score]));
  return Array.from({ length: count }, (_, index) => {
    const score = scores.get(index);
    if (score === undefined) throw unusable("scores whose indexes are not 0, 1, 2 …");
    return score;
  });
}

const unusable = (what: string) => new ProviderFailure(`answered ${what}`, { temporary: false });
