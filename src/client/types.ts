import type { FusionMethod, Hit, Progress, RerankMethod, RetrieveMode, RetrieveResult } from "../protocol/wire.ts";
import type { Filter } from "./filter.ts";

/** What a caller sends and gets (RCP §7); hits and results of `retrieve` are in protocol/wire.ts. */

/** RCP §4.8. */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio" | "blob"; readonly mimeType: string; readonly data: string }
  | { readonly type: "image" | "audio" | "blob"; readonly mimeType: string; readonly uri: string };

/** RCP §7.7.2; a server advertises its own in `retrieve.units`. */
export type RetrieveUnit =
  | "chunk"
  | "passage"
  | "document"
  | "node"
  | "triplet"
  | "path"
  | "subgraph"
  | "community"
  | "tree-node"
  | "page";

export type QueryTransform = "rewrite" | "hyde" | "multi-query" | "decompose" | "step-back";

/** Side data of a call (RCP §4.4). `deadlineMs` and `progressToken` are set by the client. */
export type Meta = Readonly<Record<string, unknown>>;

export interface RetrieveParams {
  readonly query: string | ContentBlock | readonly ContentBlock[];
  readonly k?: number;
  readonly mode?: RetrieveMode;
  readonly modality?: "text" | "image" | "audio" | "code" | "multimodal";
  readonly candidateK?: number;
  readonly fusion?: {
    readonly method: FusionMethod;
    readonly weights?: { readonly dense: number; readonly sparse: number };
    readonly rrfK?: number;
    readonly alpha?: number;
  };
  readonly rerank?: { readonly method?: RerankMethod; readonly model?: string; readonly topN?: number } | false;
  readonly mmr?: { readonly lambda: number };
  readonly rewrite?: QueryTransform | false;
  readonly filter?: Filter;
  readonly minScore?: number;
  readonly recency?: { readonly field?: string; readonly halfLifeDays: number };
  readonly unit?: RetrieveUnit;
  readonly level?: number;
  readonly tokenBudget?: number;
  /** Of one line of reasoning: what it was shown is not shown again (RCP §7.7.3). */
  readonly sessionId?: string;
  readonly includeText?: boolean;
  readonly includeVectors?: boolean;
  readonly seed?: number;
  readonly indexVersion?: string;
  /** False: what the server does not offer is left out and noted in `usage.notes` instead of refused. */
  readonly strict?: boolean;
  readonly cursor?: string;
  readonly _meta?: Meta;
}

/** What a streamed retrieve gives: progress as often as there is some, then exactly one result. */
export type RetrieveEvent =
  | { readonly kind: "progress"; readonly progress: Progress }
  | { readonly kind: "result"; readonly result: RetrieveResult };

export interface EmbedParams {
  readonly inputs: readonly (string | ContentBlock)[];
  readonly kind?: "query" | "document";
  /** On the wire only: vectors come as numbers either way. `f32-base64` is smaller. */
  readonly encoding?: "json" | "f32-base64";
}

/** Vectors in the order of the inputs. */
export interface EmbedResult {
  readonly vectors: readonly (readonly number[] | Float32Array)[];
  readonly dimension?: number;
}

export interface SparseParams {
  readonly texts: readonly string[];
  readonly kind?: "query" | "document";
}

export interface SparseResult {
  readonly sparse: readonly { readonly indices: readonly number[]; readonly values: readonly number[] }[];
}

export interface MultiVectorResult {
  readonly matrices: readonly (readonly (readonly number[])[])[];
  readonly dimension: number;
}

export interface RerankParams {
  readonly query: string;
  readonly passages: readonly string[];
  readonly method?: RerankMethod;
  readonly topN?: number;
}

export interface RerankResult {
  /** One for each passage, in the order of the passages. */
  readonly scores: readonly number[];
  /** Indices of the best `topN`, best first. */
  readonly order?: readonly number[];
}

export interface TransformParams {
  readonly query: string;
  readonly method: QueryTransform;
  readonly n?: number;
}

export interface GraphParams {
  readonly op: "local" | "global" | "drift" | "communities" | "neighbors";
  readonly query?: string;
  readonly k?: number;
  readonly seedIds?: readonly string[];
  readonly hops?: number;
  readonly sessionId?: string;
  readonly cursor?: string;
}

/** What is there depends on `op` (RCP §7.9). */
export interface GraphResult {
  readonly hits?: readonly Hit[];
  readonly summary?: string;
  readonly communities?: readonly { readonly id: string; readonly summary: string; readonly score?: number }[];
  readonly followups?: readonly string[];
  readonly nodes?: readonly { readonly id: string; readonly score: number }[];
  readonly edges?: readonly { readonly src: string; readonly dst: string; readonly weight?: number }[];
  readonly nextCursor?: string;
}

/** A document, or a chunk of one, by a hit's id: an extension of this server (RCP §6.2). */
export interface DocumentParams {
  readonly id: string;
  readonly unit?: "document" | "chunk";
}

/** As a hit would show it that nobody ranked. */
export type DocumentView = Omit<Hit, "score" | "scores">;

export interface NewDocument {
  /** Makes the call idempotent: the same id replaces the document (RCP §7.10). */
  readonly id?: string;
  /** A blob is for servers that fetch bodies: `mimeType` text/plain, text/markdown or text/html (RCP §4.8). */
  readonly text: string | { readonly type: "blob"; readonly mimeType: string; readonly uri: string };
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface AddResult {
  /** In the order of the documents. */
  readonly ids: readonly string[];
  readonly chunks?: number;
}

export interface DeleteResult {
  readonly deleted: number;
}

/** RCP §7.13: an engine that answers behind this server. */
export interface Engine {
  readonly id: string;
  readonly server: { readonly name: string; readonly version: string };
  readonly capabilities: Capabilities;
  readonly endpoint?: { readonly transport: string; readonly url: string };
}

/** RCP §7.16. */
export interface FeedbackParams {
  readonly sessionId?: string;
  readonly query?: string;
  readonly signals: readonly {
    readonly hitId: string;
    readonly used?: boolean;
    readonly cited?: boolean;
    readonly helpful?: boolean;
    readonly reward?: number;
    readonly poisonSuspected?: boolean;
    readonly injectionSuspected?: boolean;
  }[];
}

/** RCP §7.17. */
export interface MemoryBuildParams {
  readonly documents?: readonly { readonly id?: string; readonly text: string }[];
  readonly memoryId?: string;
  readonly scope?: "global" | "session";
}

export interface MemoryBuildResult {
  readonly memoryId: string;
  readonly tokens?: number;
}

export interface MemoryRecallParams {
  readonly query: string;
  readonly memoryId?: string;
  readonly sessionId?: string;
  readonly n?: number;
}

export interface MemoryRecallResult {
  readonly clues: readonly {
    readonly query?: string;
    readonly seedIds?: readonly string[];
    readonly weight?: number;
  }[];
  readonly hits?: readonly Hit[];
}

/** The server's words: look for a key before using what it stands for. */
export type Capabilities = Readonly<Record<string, unknown>>;

/** RCP §7.1 and §7.2. */
export interface ServerInfo {
  readonly protocolVersion: number;
  readonly server: { readonly name: string; readonly version: string };
  readonly capabilities: Capabilities;
  readonly _meta?: Meta;
}
