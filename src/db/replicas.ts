import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { Observe } from "../observability/observation.ts";
import { flushedPosition, type LogPosition, newestVersion, versionOnStandby } from "../sql/replicas.ts";
import type { Statement } from "../sql/sql.ts";
import type { Access, CorpusPoint, RowsOf, StatementLimits } from "./database.ts";
import type { LeaseSource } from "./lease.ts";
import { replicaFailure, sqlstateOf } from "./pg-errors.ts";
import type { Replica } from "./replica.ts";
import { SeenVersions } from "./seen-versions.ts";
import { readInBatch } from "./tenant-transaction.ts";

/** How often the primary is asked how far it is, and what is not read from is looked at. */
const LOOK_MS = 1_000;
/** Within the allowed lag, where that is short: a mark must be some time old before a replica is ever without it. */
const LOOKS_PER_LAG = 5;
/** A flush may come that much after its commit, where `synchronous_commit` is off. */
const LATE_FLUSH_MS = 1_000;

/** A position of the primary's log, at least as far as it was at that time. */
interface Mark extends LogPosition {
  /** On this process's own clock. */
  readonly at: number;
}

export interface ReplicaSettings {
  readonly maxLagMs: number;
  readonly connectTimeoutMs: number;
}

/**
 * Reads of a corpus, from replicas as far as they are good enough, and else from the primary. Whether one is, it says itself in the transaction that
 * reads: it must have replayed what the primary had flushed `maxLagMs` ago at the latest, which no clock of another machine and no
 * idleness of the primary changes, and the corpus must be there at the newest version that this process has made or met.
 */
export class Replicas {
  readonly #primary: LeaseSource;
  readonly #replicas: readonly Replica[];
  readonly #settings: ReplicaSettings;
  readonly #observe: Observe;
  readonly #seen: SeenVersions;
  /** Oldest first, none older than the allowed lag when it was added. */
  #marks: readonly Mark[] = [];
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(primary: LeaseSource, replicas: readonly Replica[], settings: ReplicaSettings, observe: Observe) {
    this.#primary = primary;
    this.#replicas = replicas;
    this.#settings = settings;
    this.#observe = observe;
    this.#seen = new SeenVersions(2 * settings.maxLagMs + LATE_FLUSH_MS);
  }

  /** From here on reads of the corpus find this version or a later one. */
  meet(tenantId: TenantId, corpus: CorpusName, version: number): void {
    this.#seen.meet(tenantId, corpus, version);
  }

  async read<const Statements extends readonly Statement<unknown>[]>(
    point: CorpusPoint,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    this.#start();
    const startedAt = performance.now();
    const replica = this.#next();
    const mark = this.#oldestMark();
    if (replica !== undefined && mark !== undefined) {
      // What is left must do for the primary, where nothing comes back from here.
      const half = { ...limits, timeoutMs: limits.timeoutMs / 2 };
      try {
        return await this.#readFrom(replica, mark, point, access, statements, half);
      } catch (error) {
        if (limits.signal.aborted) throw error;
        this.#sendOn(replica, error);
      }
    }
    const timeoutMs = limits.timeoutMs - (performance.now() - startedAt);
    const { corpus } = point;
    const tell = ([version]: readonly number[]) => this.#meet(point, version);
    const first = { statement: newestVersion(corpus), tell };
    return await readInBatch(this.#primary, access, statements, { ...limits, timeoutMs }, { first });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #readFrom<const Statements extends readonly Statement<unknown>[]>(
    replica: Replica,
    { position }: Mark,
    point: CorpusPoint,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    const { corpus, pin } = point;
    const version = this.#seen.of(corpus.tenantId, corpus.name);
    const statement = versionOnStandby({ corpus, version, pin }, position);
    const tell = ([found]: readonly number[]) => this.#meet(point, found);
    return readInBatch(replica.source, access, statements, limits, { attempts: 1, first: { statement, tell } });
  }

  #meet({ corpus }: CorpusPoint, version: number | undefined): void {
    if (version !== undefined) this.meet(corpus.tenantId, corpus.name, version);
  }

  #sendOn(replica: Replica, error: unknown): void {
    const reason = replicaFailure(error);
    const sqlstate = sqlstateOf(error);
    const code = sqlstate === undefined ? {} : { sqlstate };
    this.#observe({ kind: "read-sent-on", replica: replica.place, reason, ...code });
    if (reason !== "late" && reason !== "away") return;
    replica.drop(reason, sqlstate);
    this.#lookAtUnused();
  }

  /** Whose turn it is, of those that are well. */
  #next(): Replica | undefined {
    const used = this.#replicas.filter((replica) => replica.isUsed);
    this.#turn += 1;
    return used[this.#turn % used.length];
  }

  /** The least that a replica must have replayed. */
  #oldestMark(): Mark | undefined {
    const since = performance.now() - this.#settings.maxLagMs;
    return this.#marks.find(({ at }) => at >= since);
  }

  /** Nothing is asked before the first read. */
  #start(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const everyMs = Math.min(LOOK_MS, this.#settings.maxLagMs / LOOKS_PER_LAG);
    this.#timer = setInterval(() => void this.#look(), everyMs).unref();
    void this.#look();
  }

  async #look(): Promise<void> {
    const at = performance.now();
    try {
      const [[flushed]] = await readInBatch(this.#primary, undefined, [flushedPosition], this.#limits());
      const since = performance.now() - this.#settings.maxLagMs;
      if (flushed !== undefined) this.#marks = [...this.#marks.filter((mark) => mark.at >= since), { ...flushed, at }];
    } catch {
      return; // whoever reads from the primary is told; without a mark nobody reads from a replica
    }
    this.#lookAtUnused();
  }

  #lookAtUnused(): void {
    const mark = this.#oldestMark();
    if (mark === undefined) return;
    for (const replica of this.#replicas) if (!replica.isUsed) void replica.lookAt(mark, this.#limits());
  }

  #limits(): StatementLimits {
    return { signal: new AbortController().signal, timeoutMs: this.#settings.connectTimeoutMs };
  }
}
