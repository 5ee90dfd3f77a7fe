import { isObject, member } from "../../protocol/params.ts";
import type { RcpClientOptions, TokenSource } from "../caller.ts";
import { RcpClient } from "../rcp-client.ts";
import type { RetryPolicy } from "../retry.ts";
import type { RetrieveParams } from "../types.ts";
import { askEngine, type EngineReply, type FederatedEngine } from "./ask-engine.ts";
import { type EngineFailure, noneAnswered, requiredFailed, unsupported, wrongParam } from "./federation-error.ts";
import { type EngineHit, type FederatedFusion, type FederatedHit, fuseAnswers } from "./fuse-answers.ts";
import { nextHops } from "./hops.ts";
import { ENGINE_ID, isEngineId, type RegisteredEngine, readRegistry } from "./registry.ts";

export { type EngineFailure, FederationError } from "./federation-error.ts";
export type { EngineHit, EnginePlace, FederatedFusion, FederatedHit } from "./fuse-answers.ts";
export type { FederationRegistry, RegisteredEngine } from "./registry.ts";

/** The entry point `pgrcp/client/federation`: one retrieve over several RCP servers (RCP §16). */

export interface FederationOptions {
  /** By the names that the registry uses. */
  readonly tokens?: Readonly<Record<string, string | TokenSource>>;
  /** `rrf` when absent. `convex` is done only where every engine that answered advertises a floor of its scores. */
  readonly fusion?: FederatedFusion;
  /** Damps low ranks; the protocol's default is 60. */
  readonly rrfK?: number;
  /** What makes hits of two engines one document: the hit's id when absent. */
  readonly documentKey?: (hit: EngineHit, engine: string) => string;
  /** Most engines asked at a time, in the registry's order. */
  readonly concurrency?: number;
  /** This federation's own name, where it answers others as an RCP server. */
  readonly identity?: string;
  /** How many servers a request may pass through, one behind the other. */
  readonly hopBudget?: number;
  /** One more try when absent, so that a dead engine does not hold up the others' answer. */
  readonly retry?: Partial<RetryPolicy>;
  /** For every engine's client. */
  readonly client?: Pick<RcpClientOptions, "allowPlainHttp" | "maxResponseBytes" | "clientInfo" | "onRetry">;
  /** For the host's own log, which may hold what the engine said; results and errors do not. */
  readonly onFailure?: (failure: EngineFailure, error: unknown) => void;
}

/** Cursors, versions and token counts mean something to the engine alone that they are of. */
export type FederatedParams = Omit<RetrieveParams, (typeof OF_ONE_ENGINE)[number]>;
const OF_ONE_ENGINE = ["cursor", "indexVersion", "tokenBudget"] as const satisfies (keyof RetrieveParams)[];

export interface FederatedCallOptions {
  readonly signal?: AbortSignal;
  /** For the whole answer; engines have less. 30 seconds when absent. */
  readonly deadlineMs?: number;
}

export interface FederatedResult {
  readonly hits: readonly FederatedHit[];
  readonly usage: {
    /** Documents before the cut to k. */
    readonly candidates: number;
    readonly latencyMs: number;
    readonly strategy: { readonly fusion: FederatedFusion; readonly engines: readonly string[] };
    /** Why the answer may be thin: engines that failed, lack something, would close a circle or were short themselves. */
    readonly notes: readonly string[];
  };
  /** Engines that failed or were late. */
  readonly _meta: { readonly degraded: readonly EngineFailure[] };
}

const DEFAULT_K = 10;
const DEFAULT_DEADLINE_MS = 30_000;
const MAX_DEADLINE_MS = 2 ** 31 - 1;
/** Kept back from the engines for fusing their answers and sending the result: a tenth, within these bounds. */
const MIN_RESERVE_MS = 1;
const MAX_RESERVE_MS = 250;

/** Several engines that are asked as one. */
export class Federation {
  readonly #engines: readonly FederatedEngine[];
  readonly #options: FederationOptions;

  /** Use `federate`. */
  constructor(engines: readonly FederatedEngine[], options: FederationOptions) {
    this.#engines = engines;
    this.#options = options;
  }

  /** Each engine's own client, by id. */
  get clients(): ReadonlyMap<string, RcpClient> {
    return new Map(this.#engines.map(({ id, client }) => [id, client]));
  }

  /**
   * Asks every engine for k hits and fuses what comes within the deadline. An engine that fails or is late is left out and named,
   * unless it is required.
   *
   * @returns at most k hits, best first; ties by the larger summed weight, then by id in UTF-8 order (RCP §16.3)
   * @throws FederationError -32010 when no engine answered, no hop is left or the request came through here before; -32602 and -32005
   *   for params that cannot be federated; a required engine's own code
   * @throws the reason of the caller's signal
   */
  async retrieve(params: FederatedParams, options: FederatedCallOptions = {}): Promise<FederatedResult> {
    options.signal?.throwIfAborted();
    const startedAt = performance.now();
    const k = params.k ?? DEFAULT_K;
    if (!Number.isSafeInteger(k) || k < 1) throw wrongParam("k", "must be an integer of at least 1");
    for (const name of OF_ONE_ENGINE) if (member({ ...params }, name) !== undefined) throw unsupported(name);
    const { progressToken: _, deadlineMs: received, federation, ...meta } = params._meta ?? {};
    const hops = nextHops(federation, this.#options.identity, this.#options.hopBudget ?? 3);
    const asked = { ...params, k, _meta: { ...meta, federation: hops } };
    const endsAt = startedAt + engineTime(options.deadlineMs, received);

    const replies = await this.#askAll(asked, hops.path, endsAt, options.signal);
    const answered = replies.flatMap(({ engine, reply }) =>
      reply.kind === "answered" ? [{ engine: engine.id, weight: engine.weight, ...reply }] : [],
    );
    const degraded = replies.flatMap(({ reply }) => (reply.kind === "failed" ? [reply.failure] : []));
    const notes = replies.flatMap(({ engine, reply }) => noteOn(engine.id, reply));
    if (answered.length === 0) throw noneAnswered(degraded, notes);

    const { fusion = "rrf", rrfK = 60, documentKey = (hit: EngineHit) => hit.id } = this.#options;
    const fused = fuseAnswers(
      answered.map(({ result, ...answer }) => ({ ...answer, hits: result.hits })),
      { method: fusion, rrfK, k, documentKey },
    );
    if (fused.method !== fusion) notes.push("fused by rank: not every engine has a floor of its scores");
    return {
      hits: fused.hits,
      usage: {
        candidates: fused.candidates,
        latencyMs: Math.round(performance.now() - startedAt),
        strategy: { fusion: fused.method, engines: answered.map(({ engine }) => engine) },
        notes,
      },
      _meta: { degraded },
    };
  }

  /** @returns in the registry's order; the first required engine that fails ends the calls of all others */
  async #askAll(params: RetrieveParams, path: readonly string[], endsAt: number, outer: AbortSignal | undefined) {
    const { concurrency = 8, retry = { retries: 1 }, onFailure } = this.#options;
    const stop = new AbortController();
    const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal]);
    const ask = async (engine: FederatedEngine): Promise<EngineReply | { readonly kind: "cycle" }> => {
      if (path.includes(engine.id)) return { kind: "cycle" };
      const reply = await askEngine(engine, { params, signal, endsAt, retry });
      if (reply.kind !== "failed") return reply;
      onFailure?.(reply.failure, reply.error);
      if (engine.required) throw requiredFailed(reply.failure);
      return reply;
    };
    try {
      return await atMost(concurrency, this.#engines, async (engine) => ({ engine, reply: await ask(engine) }));
    } finally {
      stop.abort();
    }
  }
}

/**
 * Makes a federation out of a registry: a parsed `rcp.json`, or an object of that shape.
 *
 * @throws TypeError that names the place and what belongs there
 */
export function federate(registry: unknown, options: FederationOptions = {}): Federation {
  const { identity, hopBudget = 3, concurrency = 8, rrfK = 60, fusion = "rrf" } = options;
  if (identity !== undefined && !isEngineId(identity)) throw new TypeError(`identity must be ${ENGINE_ID}`);
  for (const [name, value] of Object.entries({ hopBudget, concurrency }))
    if (!Number.isSafeInteger(value) || value < 1) throw new TypeError(`${name} must be an integer of at least 1`);
  if (!Number.isFinite(rrfK) || rrfK < 0) throw new TypeError("rrfK must be a number of at least 0");
  if (fusion !== "rrf" && fusion !== "convex") throw new TypeError("fusion must be rrf or convex");
  return new Federation(
    readRegistry(registry).map((engine, index) => connect(engine, `engines[${index}]`, options)),
    { ...options },
  );
}

function connect(engine: RegisteredEngine, place: string, { tokens = {}, client }: FederationOptions): FederatedEngine {
  const { id, url, corpus, weight = 1, required = false, deadlineMs = MAX_DEADLINE_MS } = engine;
  const token = engine.token === undefined ? undefined : Object.hasOwn(tokens, engine.token) && tokens[engine.token];
  if (token === false || token === "") throw new TypeError(`${place}.token must name one of the tokens given`);
  try {
    const rcp = new RcpClient({
      ...{ ...client, url },
      ...(corpus !== undefined && { corpus }),
      ...(token !== undefined && { token }),
      ...(engine.deadlineMs !== undefined && { timeoutMs: engine.deadlineMs }),
    });
    return { ...{ id, client: rcp, weight, required, deadlineMs } };
  } catch (error) {
    if (error instanceof TypeError) throw new TypeError(`${place}.url: ${error.message}`);
    throw error;
  }
}

/** RCP §16.2: strictly less than the caller's own deadline, and than the one that came with its request. */
function engineTime(deadlineMs = DEFAULT_DEADLINE_MS, received: unknown): number {
  if (!(deadlineMs > 0)) throw new RangeError("deadlineMs must be above 0");
  const wholeMs = Math.min(deadlineMs, MAX_DEADLINE_MS, typeof received === "number" ? received : Infinity);
  return wholeMs - Math.min(MAX_RESERVE_MS, Math.max(MIN_RESERVE_MS, wholeMs / 10));
}

function noteOn(id: string, reply: EngineReply | { readonly kind: "cycle" }): readonly string[] {
  switch (reply.kind) {
    case "answered":
      return isShort(reply.result) ? [`${id}: some of its own engines did not answer`] : [];
    case "failed":
      return [`${id}: failed with ${reply.failure.code}`];
    case "lacking":
      return [`${id}: does not offer what was asked for`];
    case "cycle":
      return [`${id}: this request came through it, so asking would be a cycle`];
  }
}

/** An engine that is a federation itself says so. */
function isShort(result: object): boolean {
  const meta = "_meta" in result ? result._meta : undefined;
  return isObject(meta) && Array.isArray(meta.degraded) && meta.degraded.length > 0;
}

/** @returns in the order of the items; rejects with the first failure */
async function atMost<T, R>(limit: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const waiting = items.entries();
  const done = new Array<R>(items.length);
  const worker = async () => {
    for (const [index, item] of waiting) done[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return done;
}
