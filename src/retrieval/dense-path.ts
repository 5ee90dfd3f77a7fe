import type { Corpus } from "../catalog/corpus.ts";
import {
  type Asked,
  type DensePath,
  exactLimit,
  type PathSettings,
  pathByCount,
  pathByEstimate,
  pathWithoutCount,
} from "../plan/choose-path.ts";
import { countPassing, estimatePassing } from "../sql/recall.ts";
import type { Statement } from "../sql/sql.ts";

/**
 * Chooses how the dense list is found. Only a filter on a corpus with a graph costs something: a plan is asked for, and where that is
 * not clear, rows are counted up to the limit of exact search.
 */
export async function choosePath(
  asked: Asked,
  corpus: Corpus,
  settings: PathSettings,
  read: <Row>(statement: Statement<Row>) => Promise<readonly Row[]>,
): Promise<DensePath> {
  const settled = pathWithoutCount(asked, corpus, settings);
  if (settled !== undefined) return settled;
  const { filter } = asked;
  const total = corpus.graphChunks;
  if (total === undefined || filter === undefined) throw new Error("nothing is left to count");
  const [estimated = 0] = await read(estimatePassing(corpus, filter));
  const clear = pathByEstimate(estimated, total, { ...asked, filter }, settings);
  if (clear !== undefined) return clear;
  const [counted = 0] = await read(countPassing(corpus, filter, exactLimit(total, settings) + 1));
  return pathByCount(counted, total, asked, settings);
}
