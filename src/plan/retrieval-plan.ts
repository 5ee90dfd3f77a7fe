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

/** A retrieve whose params were checked, clamped and resolved: running it cannot refuse. */
export interface RetrievalPlan {
  /** Well-formed; U+0000 became a blank. May be empty or blank. */
  readonly query: string;
  readonly recall: RecallPlan;
  readonly k: number;
  /** Candidates per ranked list, at least k. */
  readonly candidateK: number;
  readonly filter: ResolvedFilter | undefined;
  readonly minScore: number | undefined;
  readonly includeText: boolean;
  readonly includeVectors: boolean;
  /** The version to read, as the client knows it; absent = the newest. */
  readonly indexVersion: string | undefined;
  /** What was asked for and left out under `strict: false`. */
  readonly notes: readonly string[];
}
