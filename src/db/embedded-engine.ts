import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type pg from "pg";
import type { TenantId } from "../catalog/corpus.ts";
import { FairTurns } from "../load/fair-turns.ts";
import type { Observe } from "../observability/observation.ts";
import { backendUnavailable, ErrorCode } from "../protocol/errors.ts";
import { runBatch } from "./batch.ts";
import { type EmbeddedSession, startSession } from "./embedded-session.ts";
import type { EmbeddedWorkerData, EmbeddedWorkerMessage, EmbeddedWorkerRequest } from "./embedded-worker.ts";
import type { Lease } from "./lease.ts";
import { orAborted } from "./or-aborted.ts";

export interface EngineOptions {
  /** How long a caller waits for its turn. */
  readonly waitMs: number;
  /** An abandoned statement that runs on for longer costs the thread its life, and the data directory is opened anew. */
  readonly runawayMs?: number;
  /** Hears of a thread that ended unasked, and of one that could not be started in its place. */
  readonly observe?: Observe;
}

const RUNAWAY_MS = 15_000;
const RETRY_AFTER_MS = 1_000;

const request = (worker: Worker, message: EmbeddedWorkerRequest): void => worker.postMessage(message);

/**
 * The embedded database's one connection, lent to one caller at a time.
 *
 * Its deadlines are kept from outside: a caller leaves when its time is up, and the connection stays with the abandoned statement
 * until that ends.
 */
export class EmbeddedEngine {
  readonly #data: EmbeddedWorkerData;
  readonly #turns: FairTurns;
  readonly #runawayMs: number;
  readonly #observe: Observe;
  #session: EmbeddedSession;
  #closed = false;

  private constructor(data: EmbeddedWorkerData, session: EmbeddedSession, options: EngineOptions) {
    const { waitMs, runawayMs = RUNAWAY_MS, observe = () => {} } = options;
    this.#data = data;
    this.#session = session;
    const detail = "the embedded database is busy";
    const busy = () => backendUnavailable({ retryable: true, retryAfterMs: waitMs, detail });
    this.#turns = new FairTurns({ places: 1, waiting: { ms: waitMs, busy } });
    this.#runawayMs = runawayMs;
    this.#observe = observe;
    this.#watch(session);
  }

  /** @throws Error with Postgres' own message when the data cannot be opened */
  static async open(data: EmbeddedWorkerData, options: EngineOptions): Promise<EmbeddedEngine> {
    return new EmbeddedEngine(data, await startSession(data), options);
  }

  /** @param patient waits its turn without end */
  async acquire(signal: AbortSignal, party: TenantId | undefined, patient = false): Promise<Lease> {
    const leave = await this.#turns.enter(signal, party, patient);
    const opening = this.#running();
    try {
      const { worker, client } = await orAborted(opening, signal);
      return {
        client,
        release: leave,
        // A thread that could not be ended is met by whoever is next, and times out.
        abandon: (running) =>
          void this.#settle(worker, client, running)
            .catch(() => {})
            .finally(leave),
      };
    } catch (error) {
      // Whoever is next must not start a second thread beside one that is still starting.
      void opening.catch(() => {}).then(leave);
      throw error;
    }
  }

  /** The whole data directory as a tar file, to start another database from. */
  async dump(): Promise<Uint8Array> {
    const lease = await this.acquire(new AbortController().signal, undefined, true);
    try {
      const { worker } = this.#session;
      const tar = new Promise<Uint8Array>((resolve) => {
        const listen = (message: EmbeddedWorkerMessage | Uint8Array) => {
          if (message instanceof Uint8Array || message.kind !== "dump") return;
          worker.off("message", listen);
          resolve(message.tar);
        };
        worker.on("message", listen);
      });
      request(worker, { kind: "dump" });
      return await tar;
    } finally {
      lease.release();
    }
  }

  /** Waits for what runs, so that the data directory is left shut down cleanly. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#turns.enter(new AbortController().signal, undefined, true);
    const { worker, ended, hasEnded } = this.#session;
    if (hasEnded()) return;
    request(worker, { kind: "close" });
    await Promise.race([ended, sleep(5_000, undefined, { ref: false })]);
    await worker.terminate();
  }

  async #settle(worker: Worker, client: pg.Client, running: Promise<unknown> | undefined): Promise<void> {
    const rolledBack = (running ?? Promise.resolve())
      .catch(() => {})
      .then(() => (client.getTransactionStatus() === "I" ? [] : runBatch(client, [{ text: "rollback", values: [] }])));
    const late = Symbol("late");
    const runaway = sleep(this.#runawayMs, late, { ref: false });
    const outcome = await Promise.race([rolledBack, runaway]).catch(() => late);
    if (outcome === late) await worker.terminate();
  }

  /** The thread that runs, or a new one for one that has ended, where the data outlives it. A start that fails is tried again. */
  async #running(): Promise<EmbeddedSession> {
    if (!this.#session.hasEnded()) return this.#session;
    const { dataDir } = this.#data;
    if (dataDir === undefined) {
      throw backendUnavailable({ retryable: false, detail: "the embedded database has ended" });
    }
    try {
      this.#session = await startSession({ dataDir });
    } catch (cause) {
      const where = "the embedded database";
      this.#observe({ kind: "backend-failed", where, code: ErrorCode.BackendUnavailable, error: cause });
      const detail = "the embedded database could not be opened again";
      throw backendUnavailable({ retryable: true, retryAfterMs: RETRY_AFTER_MS, detail }, { cause });
    }
    this.#watch(this.#session);
    return this.#session;
  }

  #watch({ ended }: EmbeddedSession): void {
    void ended.then(() => {
      if (!this.#closed) this.#observe({ kind: "database", event: "embedded-thread-ended" });
    });
  }
}
