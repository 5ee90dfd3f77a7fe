import { ErrorCode } from "../../protocol/errors.ts";
import { isObject } from "../../protocol/params.ts";
import { Caller, type RcpClientOptions, type TokenSource } from "../caller.ts";
import { RcpCallError, RcpCapabilityError, RcpTransportError } from "../errors.ts";
import { isAdvertised, serverMaxK } from "../gate.ts";
import type { RetrieveParams } from "../types.ts";
import { type EngineHit, readEngineHits } from "./engine-hit.ts";
import { type DocumentKey, type EngineList, type FusedHit, type FusionName, fuseLists, fusionFor } from "./fuse.ts";
import type { EngineEntry } from "./registry.ts";

export { type EngineEntry, readRegistry } from "./registry.ts";
/** The library `pgrcp/client/federation`: one question to several engines, one answer (RCP §16). */
export type { DocumentKey, EngineHit, FusedHit, FusionName };

export interface FederationOptions {
  readonly engines: readonly EngineEntry[];
  /** By the engine's id. A token goes to its own engine and to no other. */
  readonly tokens?: Readonly<Record<string, string | TokenSource>>;
  /** Of whoever federates, for an aggregator: it is in the path of what it forwards (RCP §16.2). */
  readonly identity?: string;
  /** For engines whose ids are not of one space: what makes hits of two of them the same document. Their ids when absent. */
  readonly documentKey?: DocumentKey;
  /** Most engines that one question may go to. */
  readonly maxEngines?: number;
  readonly client?: Pick<RcpClientOptions, "allowPlainHttp" | "maxResponseBytes" | "retry" | "onRetry" | "clientInfo">;
}

/** Without what is of one engine only: its cursors, versions and scale of scores. */
export type FederatedParams = Omit<RetrieveParams, "cursor" | "indexVersion" | "minScore">;

export interface FederatedCallOptions {
  readonly signal?: AbortSignal;
  /** For the whole; each engine has less of it. */
  readonly deadlineMs?: number;
  /** `convex`, the default, becomes `rrf` unless each engine that answered says what its scores cannot go below. */
  readonly fusion?: FusionName;
  readonly rrfK?: number;
}

export interface FederatedResult {
  readonly hits: readonly FusedHit[];
  readonly usage: {
    readonly candidates: number;
    readonly latencyMs: number;
    readonly strategy: { readonly fusion: FusionName; readonly engines: readonly string[] };
    /** Which engines are not in the answer, and why. */
    readonly notes?: readonly string[];
  };
  readonly _meta?: { readonly degraded: readonly string[] };
}

interface Engine {
  readonly entry: EngineEntry;
  readonly caller: Caller;
}

/** The hop budget and the way so far (RCP §16.2). */
interface Hops {
  readonly depth: number;
  readonly path: readonly string[];
}

/** How an engine's turn ended. A failed one is degraded; one that has no part in it was not asked. */
type Turn =
  | { readonly kind: "answered"; readonly list: EngineList }
  | { readonly kind: "skipped" | "failed"; readonly engine: string; readonly reason: string };

const DEFAULT_DEADLINE_MS = 10_000;
const DEFAULT_DEPTH = 3;
const DEFAULT_K = 10;
const DEFAULT_MAX_ENGINES = 16;
/** What is left for fusing and answering. */
const SHARE_OF_DEADLINE = 0.9;

export class Federation {
  readonly #engines: readonly Engine[];
  readonly #identity: string | undefined;
  readonly #documentKey: DocumentKey | undefined;

  /** @throws TypeError for an URL that is none or a token that would travel readable; RangeError for too many engines, or none */
  constructor(options: FederationOptions) {
    const { engines, tokens = {}, maxEngines = DEFAULT_MAX_ENGINES, client = {} } = options;
    if (engines.length < 1 || engines.length > maxEngines)
      throw new RangeError(`a federation must have 1 to ${maxEngines} engines (maxEngines)`);
    this.#identity = options.identity;
    this.#documentKey = options.documentKey;
    this.#engines = engines.map((entry) => {
      const token = Object.hasOwn(tokens, entry.id) ? tokens[entry.id] : undefined;
      return { entry, caller: new Caller({ ...client, url: entry.url, ...(token !== undefined && { token }) }) };
    });
  }

  /**
   * Asks every engine at once and fuses what comes in time. An engine that fails or is late is left out and named in
   * `_meta.degraded`; what lacks `retrieve`, or an option that was asked for, is passed over.
   *
   * @throws RcpCallError: a required engine's own, or -32010 when no engine answered; or the reason of the caller's signal
   */
  async retrieve(params: FederatedParams, options: FederatedCallOptions = {}): Promise<FederatedResult> {
    const { deadlineMs = DEFAULT_DEADLINE_MS, fusion: wanted = "convex", rrfK, signal } = options;
    const startedAt = performance.now();
    signal?.throwIfAborted();
    const hops = this.#forwarded(params._meta);
    const failed = new AbortController();
    const call = {
      params,
      hops,
      // Less than the caller's, always: what is too short to share is no time at all.
      endsAt: startedAt + Math.floor(Math.min(deadlineMs * SHARE_OF_DEADLINE, deadlineMs - 1)),
      signal: signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]),
    };
    let turns: readonly Turn[];
    try {
      turns = await Promise.all(this.#engines.map((engine) => this.#turn(engine, call)));
    } catch (error) {
      failed.abort();
      throw error;
    }
    const lists = turns.flatMap((turn) => (turn.kind === "answered" ? [turn.list] : []));
    const missing = turns.flatMap((turn) => (turn.kind === "answered" ? [] : [turn]));
    const notes = missing.map(({ engine, kind, reason }) => `${engine} ${kind}: ${reason}`);
    if (lists.length === 0) throw unavailable(notes.join("; "));
    const fusion = fusionFor(wanted, lists);
    const degraded = missing.filter(({ kind }) => kind === "failed").map(({ engine }) => engine);
    return {
      hits: fuseLists(lists, fusion, { rrfK, documentKey: this.#documentKey }).slice(0, params.k ?? DEFAULT_K),
      usage: {
        candidates: lists.reduce((sum, { hits }) => sum + hits.length, 0),
        latencyMs: Math.round(performance.now() - startedAt),
        strategy: { fusion, engines: lists.map(({ engine }) => engine) },
        ...(notes.length > 0 && { notes }),
      },
      ...(degraded.length > 0 && { _meta: { degraded } }),
    };
  }

  /** Ends the sessions that engines wanted. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#engines.map(({ caller }) => caller.close({ deadlineMs: DEFAULT_DEADLINE_MS })));
  }

  /**
   * @throws RcpCallError -32010 where the hop budget is used up, or the question has been here before; TypeError where a question is to
   *   be forwarded by nobody in particular
   */
  #forwarded(meta: RetrieveParams["_meta"]): Hops {
    const came = isObject(meta?.federation) ? meta.federation : undefined;
    if (came === undefined) return { depth: DEFAULT_DEPTH, path: [] };
    if (this.#identity === undefined) throw new TypeError("what forwards a question needs an identity");
    const path = Array.isArray(came.path) ? came.path.filter((one) => typeof one === "string") : [];
    const depth = (Number.isSafeInteger(came.depth) ? Number(came.depth) : 0) - 1;
    if (this.#identity !== undefined && path.includes(this.#identity))
      throw unavailable("the question came in a circle");
    if (depth < 1) throw unavailable("the hop budget is used up");
    return { depth, path: [...path, this.#identity] };
  }

  async #turn({ entry, caller }: Engine, call: EngineCall): Promise<Turn> {
    const { id: engine, weight = 1, required = false } = entry;
    try {
      const list = await ask(entry, caller, call);
      if (typeof list === "string") return { kind: "skipped", engine, reason: list };
      return { kind: "answered", list: { engine, weight, ...list } };
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      if (error instanceof RcpCapabilityError) return { kind: "skipped", engine, reason: error.capability };
      const failure = asCallError(error);
      if (failure === undefined) throw error;
      if (required) throw failure;
      return { kind: "failed", engine, reason: `${failure.code}` };
    }
  }
}

interface EngineCall {
  readonly params: FederatedParams;
  readonly hops: Hops;
  /** By `performance.now()`. */
  readonly endsAt: number;
  readonly signal: AbortSignal;
}

/** @returns why it was not asked, where it was not */
async function ask(
  { id }: EngineEntry,
  caller: Caller,
  { params, hops, endsAt, signal }: EngineCall,
): Promise<string | Pick<EngineList, "hits" | "scoreFloor">> {
  const left = () => ({ signal, deadlineMs: Math.max(1, Math.floor(endsAt - performance.now())) });
  const { capabilities, server } = caller.serverInfo ?? (await caller.info(left()));
  if (!isAdvertised("retrieve", capabilities)) return "retrieve";
  if (hops.path.includes(id) || hops.path.includes(server.name)) return "the question has been there";
  const { k = DEFAULT_K, candidateK, rerank } = params;
  // Twice as many give fusion room, where no other number of the funnel forbids it (RCP §3.3).
  const isFree = candidateK === undefined && !(isObject(rerank) && rerank.topN !== undefined);
  const sent = {
    ...params,
    k: Math.min(isFree ? 2 * k : k, serverMaxK(capabilities)),
    _meta: { ...params._meta, federation: hops },
  };
  const isIdempotent = params.sessionId === undefined;
  const hits = readEngineHits(await caller.call({ method: "retrieve", params: sent, isIdempotent }, left()));
  const floor = isObject(capabilities.retrieve) ? capabilities.retrieve.scoreFloor : undefined;
  return { hits, scoreFloor: typeof floor === "number" ? floor : undefined };
}

/** RCP §12: an engine that gave no answer is away, or late. Undefined for what is no failure of an engine. */
function asCallError(error: unknown): RcpCallError | undefined {
  if (error instanceof RcpCallError) return error;
  if (!(error instanceof RcpTransportError)) return undefined;
  const isLate = error.fault === "timeout";
  return new RcpCallError({
    ...{ code: isLate ? ErrorCode.Timeout : ErrorCode.BackendUnavailable, message: error.message },
    ...{ data: { retryable: error.retryable, detail: error.detail }, httpStatus: 0, retryAfterMs: undefined },
  });
}

/** "Nothing was found" and "nothing answered" are told apart (RCP §16.2). */
const unavailable = (detail: string): RcpCallError =>
  new RcpCallError({
    ...{ code: ErrorCode.BackendUnavailable, message: "No engine of the federation answered" },
    ...{ data: { retryable: true, detail }, httpStatus: 0, retryAfterMs: undefined },
  });
