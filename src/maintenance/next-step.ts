import type { PlacedCorpus } from "../sql/partitions.ts";
import { SHARED } from "../sql/place.ts";

/** What maintenance does next with a corpus's place. */
export type Step =
  | { readonly kind: "resume" }
  | { readonly kind: "move-out" }
  | { readonly kind: "move-back" }
  | { readonly kind: "build" }
  | { readonly kind: "rebuild" };

export interface Thresholds {
  /** Live chunks above which a corpus has a partition and a graph of its own. It keeps them down to half as many. */
  readonly ownPartitionFrom: number;
  /** The share of a graph's entries that may lead to chunks which are closed. */
  readonly rebuildShare: number;
}

/** pgvector builds no graph over longer vectors of half precision. */
const MAX_GRAPH_DIMENSION = 4_000;

/** @returns undefined for a corpus that is where it belongs */
export function nextStep(corpus: PlacedCorpus, { ownPartitionFrom, rebuildShare }: Thresholds): Step | undefined {
  const { placement, movingFrom, dimension, liveChunks, graph } = corpus;
  if (movingFrom !== undefined) return { kind: "resume" };
  const isForGraph = dimension <= MAX_GRAPH_DIMENSION;
  if (placement === SHARED) return isForGraph && liveChunks > ownPartitionFrom ? { kind: "move-out" } : undefined;
  if (liveChunks < ownPartitionFrom / 2) return { kind: "move-back" };
  if (graph === undefined) return { kind: "build" };
  return deadShare(corpus, graph) > rebuildShare ? { kind: "rebuild" } : undefined;
}

/** Of the graph's entries: those that it was built with and every chunk that came later, less the live ones. VACUUM may have removed some. */
function deadShare({ liveChunks, nextChunk }: PlacedCorpus, graph: { chunks: number; nextChunk: number }): number {
  const entries = graph.chunks + nextChunk - graph.nextChunk;
  return entries === 0 ? 0 : (entries - liveChunks) / entries;
}
