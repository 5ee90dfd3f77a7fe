import {
  type FusionMethod,
  LOG_LEVELS,
  type LogLevel,
  type RerankMethod,
  type RetrieveMode,
  type TransformMethod,
  type Unit,
  type VectorEncoding,
} from "../protocol/wire.ts";

/** Every capability key of RCP §6 that gates a method, and the one that is this server's own (§6.2). */
export type Capability =
  | "embed"
  | "sparseEmbed"
  | "multiVector"
  | "rerank"
  | "retrieve"
  | "transform"
  | "graph"
  | "index"
  | "catalog"
  | "feedback"
  | "memory"
  | "x-pgrcp";

/** RCP §6: presence means supported. What is built and switched on, and nothing else. */
export interface Capabilities {
  readonly retrieve?: {
    readonly maxK: number;
    readonly modes: readonly RetrieveMode[];
    readonly fusion?: readonly FusionMethod[];
    readonly mmr?: true;
    readonly rerankBuiltin?: true;
    readonly units: readonly Unit[];
    readonly tokenBudget?: true;
    readonly deterministic?: true;
    readonly snapshots?: true;
    readonly defaultMode: RetrieveMode;
    readonly scoreScale?: "cosine" | "bm25" | "unbounded";
    readonly scoreFloor?: number;
  };
  readonly filter?: { readonly fields: Readonly<Record<string, string>>; readonly operators: readonly string[] };
  readonly citations?: Readonly<Record<string, never>>;
  readonly pagination?: Readonly<Record<string, never>>;
  readonly session?: { readonly dedup: true; readonly ttlSeconds: number };
  readonly streaming?: Readonly<Record<string, never>>;
  readonly log?: { readonly levels: readonly LogLevel[] };
  readonly embed?: {
    readonly dimension: number;
    readonly identity: string;
    readonly batchLimit: number;
    readonly normalized: true;
    readonly encodings: readonly VectorEncoding[];
    readonly modalities: readonly ["text"];
  };
  readonly rerank?: {
    readonly methods: readonly RerankMethod[];
    readonly maxCandidates: number;
    readonly models: readonly string[];
  };
  readonly transform?: { readonly methods: readonly TransformMethod[] };
  readonly feedback?: Readonly<Record<string, never>>;
  readonly catalog?: { readonly engines: number };
  readonly index?: { readonly writable: boolean; readonly chunking: boolean; readonly contextual?: true };
  /** Extension methods, by what stands behind `x-pgrcp/`. */
  readonly "x-pgrcp"?: { readonly methods: readonly string[] };
}

/** What this server can do, whoever asks. */
export interface Advertised {
  readonly retrieve:
    | {
        readonly maxK: number;
        readonly modes: readonly RetrieveMode[];
        readonly fusion: readonly FusionMethod[];
        readonly units: readonly Unit[];
        readonly defaultMode: RetrieveMode;
        readonly mmr: boolean;
        readonly rerankBuiltin: boolean;
        /** Something on offer gives scores of another scale than the mode's: a reranker, or several queries fused. */
        readonly isRescored: boolean;
        readonly tokenBudget: boolean;
        readonly deterministic: boolean;
        readonly snapshots: boolean;
        readonly pagination: boolean;
        /** How long a trajectory is remembered; undefined when none is. */
        readonly trajectorySeconds: number | undefined;
        /** Undefined when filtering is switched off. */
        readonly filter: Capabilities["filter"];
      }
    | undefined;
  readonly streaming: boolean;
  /** Only where there is streaming, too: a log line has no other way to go. */
  readonly log: boolean;
  readonly index: { readonly chunking: boolean; readonly contextual: boolean } | undefined;
  readonly embed: Capabilities["embed"] | undefined;
  readonly rerank: Capabilities["rerank"] | undefined;
  readonly transform: Capabilities["transform"] | undefined;
  readonly feedback: boolean;
  readonly catalog: boolean;
}

/**
 * The capabilities as one caller sees them. They describe the server; only `index.writable` and `catalog.engines` the token.
 *
 * @param mayAdd whether the caller's token is good for `index/add`
 * @param engines how many corpora the caller may read
 * @see RCP §6, §6.1
 */
export function advertise(advertised: Advertised, mayAdd: boolean, engines = 0): Capabilities {
  const { retrieve, streaming, log, embed, rerank, transform, feedback, catalog, index } = advertised;
  return {
    ...(retrieve && { retrieve: retrieveCapability(retrieve), ...(retrieve.filter && { filter: retrieve.filter }) }),
    ...(retrieve && { citations: {} }),
    ...(retrieve?.pagination && { pagination: {} }),
    ...(retrieve?.trajectorySeconds !== undefined && {
      session: { dedup: true, ttlSeconds: retrieve.trajectorySeconds },
    }),
    ...(streaming && { streaming: {} }),
    ...(streaming && log && { log: { levels: LOG_LEVELS } }),
    ...(embed && { embed }),
    ...(rerank && { rerank }),
    ...(transform && { transform }),
    ...(feedback && { feedback: {} }),
    ...(catalog && { catalog: { engines } }),
    ...(retrieve && { "x-pgrcp": { methods: ["document"] } }),
    ...(index && { index: { writable: mayAdd, chunking: index.chunking, ...onlyTrue(index, "contextual") } }),
  };
}

function retrieveCapability(retrieve: NonNullable<Advertised["retrieve"]>) {
  const { maxK, modes, fusion, units, defaultMode } = retrieve;
  const [onlyMode] = modes.length === 1 && !retrieve.isRescored ? modes : [];
  return {
    maxK,
    modes,
    ...(modes.includes("hybrid") && { fusion }),
    ...onlyTrue(retrieve, "mmr", "rerankBuiltin"),
    units,
    ...onlyTrue(retrieve, "tokenBudget", "deterministic", "snapshots"),
    defaultMode,
    ...(onlyMode && SCORES[onlyMode]),
  };
}

/** The flags that are up: presence means supported, so one that is down is not shown (RCP §6). */
function onlyTrue<Flag extends string>(
  flags: Readonly<Record<Flag, boolean>>,
  ...names: readonly Flag[]
): { [name in Flag]?: true } {
  const shown: { [name in Flag]?: true } = {};
  for (const name of names) if (flags[name]) shown[name] = true;
  return shown;
}

/**
 * A scale can be promised only when one mode is left on and nothing scores anew. A fused score has no floor that a client could
 * rely on (RCP §6.1).
 */
const SCORES = {
  dense: { scoreScale: "cosine", scoreFloor: -1 },
  sparse: { scoreScale: "bm25", scoreFloor: 0 },
  hybrid: { scoreScale: "unbounded" },
} as const satisfies Record<RetrieveMode, object>;

/** A set without what changes while the configuration stays the same: corpora are made at any time. */
export const withoutCounts = (capabilities: Capabilities): Capabilities =>
  capabilities.catalog === undefined ? capabilities : { ...capabilities, catalog: { engines: 0 } };

/** What RCP §14.3 names, as far as it can be had here. */
const BEYOND_L1: readonly ((capabilities: Capabilities) => unknown)[] = [
  ({ rerank }) => rerank,
  ({ transform }) => transform,
  ({ streaming }) => streaming,
  ({ pagination }) => pagination,
  ({ log }) => log,
  ({ retrieve }) => retrieve?.deterministic && retrieve.snapshots,
];
const ENOUGH_FOR_L2 = 4;

/**
 * The level of RCP §14 that a set of capabilities comes to. L1 is retrieve in all three modes, with filter and citations. The
 * protocol leaves to each server which selection beyond that is L2; here it is four of six: rerank, query/transform, streaming,
 * pagination, log, and answers that can be had again (`retrieve.deterministic` and `snapshots`).
 */
export function conformanceLevel(capabilities: Capabilities): "L0" | "L1" | "L2" {
  const { retrieve, filter, citations } = capabilities;
  if (retrieve?.modes.length !== 3 || filter === undefined || citations === undefined) return "L0";
  return BEYOND_L1.filter((isThere) => isThere(capabilities)).length >= ENOUGH_FOR_L2 ? "L2" : "L1";
}
