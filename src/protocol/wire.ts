/** Shapes that leave the server, in the spec's own spelling (RCP §7). */

export type TrustLevel = "trusted" | "community" | "untrusted";
export type RetrieveMode = "dense" | "sparse" | "hybrid";
export type FusionMethod = "rrf" | "weighted" | "convex";
export type Unit = "chunk" | "document";

/** RCP §7.7. Scores are finite; a higher one is better. Offsets count Unicode code points of the stored text. */
export interface Hit {
  readonly id: string;
  readonly score: number;
  readonly text?: string;
  readonly unit: Unit;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly vector?: readonly number[];
  readonly scores: Readonly<Record<string, number>>;
  readonly citation: {
    readonly source: string;
    readonly uri?: string;
    readonly title?: string;
    readonly start: number;
    readonly end: number;
  };
  readonly trust: { readonly level: TrustLevel; readonly injectionSuspected: boolean };
  readonly chunk: {
    readonly docId: string;
    readonly index: number;
    /** What situates the chunk in its document; no part of the text or its offsets. */
    readonly context?: string;
  };
}

export interface Usage {
  readonly candidates: number;
  readonly reranked: number;
  readonly latencyMs: number;
  /** Of the hits' bodies together, by the embedding model's count; with a tokenBudget only. */
  readonly tokens?: number;
  /** What ran: mode, exact or ann, fusion, and the stages after it. */
  readonly strategy: Readonly<Record<string, unknown>>;
  readonly notes?: readonly string[];
}

export interface RetrieveResult {
  readonly hits: readonly Hit[];
  /** Absent at the end of the ranked list. */
  readonly nextCursor?: string;
  readonly indexVersion?: string;
  readonly usage: Usage;
  /** What was looked for in the query's place or beside it, one a line. */
  readonly rewrittenQuery?: string;
}

/** A stage of the pipeline, as progress names it (RCP §3.1, §9). */
export type Stage = "transform" | "recall" | "fuse" | "rerank" | "diversify" | "pack";

/** What one `notifications/progress` says (RCP §9). */
export interface Progress {
  /** 0 to 1; a later frame of the same call never says less. */
  readonly progress: number;
  readonly stage: Stage;
  readonly message?: string;
  /** Incremental results, superseded by the answer. */
  readonly partial?: { readonly hits: readonly Hit[] };
}

/** RCP §17.1, least severe first. */
export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** RCP §6 `rerank.methods`. */
export type RerankMethod = "cross-encoder" | "colbert" | "llm";

/** RCP §7.3.1: numbers, or little-endian binary32 in base64. */
export const VECTOR_ENCODINGS = ["json", "f32-base64"] as const;
export type VectorEncoding = (typeof VECTOR_ENCODINGS)[number];

/** RCP §6 `transform.methods`. */
export const TRANSFORM_METHODS = ["rewrite", "hyde", "multi-query", "decompose", "step-back"] as const;
export type TransformMethod = (typeof TRANSFORM_METHODS)[number];

/** RCP §7.8. `queries` is never empty; `hypothetical` is hyde's alone, whose only query is the one that was sent. */
export interface TransformResult {
  readonly queries: readonly string[];
  readonly hypothetical?: string;
}

export type JsonRpcId = string | number;
