import { compareUtf8 } from "../protocol/text.ts";
import type { HitRow } from "../sql/ranked-chunks.ts";

/** One chunk that recall found, with what each retriever says of it. */
export interface Candidate {
  readonly chunkNo: number;
  readonly docId: string;
  readonly ordinal: number;
  /** The chunk's fingerprint, by which near-duplicates are told; undefined where it has none. */
  readonly print: string | undefined;
  /** Cosine similarity, -1 to 1; undefined when no dense retriever ran. */
  readonly dense: number | undefined;
  /** BM25, at least 0; undefined when no sparse retriever ran, 0 when no query term is in the chunk. */
  readonly sparse: number | undefined;
  /** What a hit shows of it, where recall brought that along. */
  readonly hit?: HitRow | undefined;
}

export interface ScoredCandidate extends Candidate {
  readonly score: number;
  /** The reranker's score; absent when none ran. */
  readonly rerank?: number;
}

/** Total order of equal scores: document id in UTF-8 byte order, then ordinal. */
export const compareIds = (a: Candidate, b: Candidate): number =>
  compareUtf8(a.docId, b.docId) || a.ordinal - b.ordinal;

/** Best first; a higher score is better. */
export const compareScored = (a: ScoredCandidate, b: ScoredCandidate): number => b.score - a.score || compareIds(a, b);
