import type { FilterField } from "../catalog/corpus.ts";
import type { TransformMethod, Unit } from "../protocol/wire.ts";
import type { ResolvedFilter } from "./filter.ts";

/** How two ranked lists become one (RCP §16.3). Weights are not negative and not both zero. */
export type Fusion =
  | { readonly method: "rrf"; readonly rrfK: number; readonly weights: Weights }
  | { readonly method: "weighted"; readonly weights: Weights }
  | { readonly method: "convex"; readonly alpha: number };

export interface Weights {
  readonly dense: number;
  readonly sparse: number;
}

/** Only a hybrid plan has a fusion, and it always has one. */
export type RecallPlan =
  | { readonly mode: "dense" }
  | { readonly mode: "sparse" }
  | { readonly mode: "hybrid"; readonly fusion: Fusion };

export interface RerankPlan {
  /** Best candidates that the reranker scores anew; the others are dropped. */
  readonly topN: number;
}

/** Scores are halved for each half-life of age. */
export interface Recency {
  /** A field of one date. */
  readonly field: FilterField;
  /** Above 0. */
  readonly halfLifeDays: number;
}

/** A retrieve whose params were checked, clamped and resolved: running it cannot refuse anything but its cursor and its version. */
export interface RetrievalPlan {
  /** Well-formed; U+0000 became a blank. May be empty or blank. */
  readonly query: string;
  readonly rewrite: TransformMethod | undefined;
  readonly recall: RecallPlan;
  readonly k: number;
  /** Candidates per ranked list, at least k. */
  readonly candidateK: number;
  /**
   * Candidates that are looked for first: enough for this page where no stage looks beyond it, as many as `candidateK` where one does. Later pages
   * have the list of all `candidateK`, of which these are the first where all chunks are looked at.
   */
  readonly firstCandidateK: number;
  /** As many as candidateK may become where a trajectory has seen some, and the longest ranked list that is kept. */
  readonly maxCandidateK: number;
  /** Documents of one group of near-duplicates among the hits; 0 = any number. */
  readonly maxNearDuplicates: number;
  readonly filter: ResolvedFilter | undefined;
  readonly unit: Unit;
  readonly rerank: RerankPlan | undefined;
  readonly recency: Recency | undefined;
  /** Of the final score. */
  readonly minScore: number | undefined;
  /** 1 = relevance alone, 0 = diversity alone. */
  readonly mmr: { readonly lambda: number } | undefined;
  /** Most tokens that the hits' bodies have together, by the embedding model's count. */
  readonly tokenBudget: number | undefined;
  /** Most text in one answer, but for the first hit's. */
  readonly maxHitCharacters: number;
  readonly includeText: boolean;
  readonly includeVectors: boolean;
  /** Fixes nothing, for every stage of this server is deterministic. Only stages that ask another service are not. */
  readonly seed: number | undefined;
  /** The version to read, as the client knows it; absent = the newest. */
  readonly indexVersion: string | undefined;
  /** The trajectory that the retrieve belongs to, as the client names it. */
  readonly sessionId: string | undefined;
  /** Where to go on in the ranked list that an earlier retrieve of the same plan found. */
  readonly cursor: string | undefined;
  /** What was asked for and left out under `strict: false`. */
  readonly notes: readonly string[];
}
