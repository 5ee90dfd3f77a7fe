import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import pg from "pg";
import { backendUnavailable } from "../protocol/errors.ts";
import { runBatch } from "./batch.ts";
import type { EmbeddedWorkerData, EmbeddedWorkerMessage, EmbeddedWorkerRequest } from "./embedded-worker.ts";
import type { Lease } from "./lease.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { WorkerStream } from "./worker-stream.ts";

export interface EngineLimits {
  /** How long a caller waits for its turn. */
  readonly waitMs: number;
  /** An abandoned statement that runs on for longer costs the thread its life, and the data directory is opened anew. */
  readonly runawayMs?: number;
}

const RUNAWAY_MS = 15_000;

/** Beside this file, as source or as built. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith(".ts") ? "./embedded-worker.ts" : "./embedded-worker.js",
  import.meta.url,
);

interface Session {
  readonly worker: Worker;
  readonly client: pg.Client;
  /** Resolves when the thread is gone. */
  readonly ended: Promise<void>;
}

const request = (worker: Worker, message: EmbeddedWorkerRequest): void => worker.postMessage(message);

async function start(data: EmbeddedWorkerData): Promise<Session> {
  const worker = new Worker(WORKER_FILE, { workerData: data });
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the embedded database's thread ended while it started")));
    worker.once("message", (message: EmbeddedWorkerMessage) => {
      if (message.kind === "failed") reject(new Error(message.message));
      else resolve();
    });
  });
  const client = new pg.Client({
    user: "postgres",
    database: "postgres",
    host: "127.0.0.1",
    stream: () => new WorkerStream(worker),
  });
  client.on("error", () => {});
  await client.connect();
  return { worker, client, ended };
}

/**
 * The embedded database's one connection, lent to one caller at a time.
 *
 * Its deadlines are kept from outside: a caller leaves when its time is up, and the connection stays with the abandoned statement
 * until that ends.
 */
export class EmbeddedEngine {
  readonly #data: EmbeddedWorkerData;
  readonly #turns: OneAtATime;
  readonly #runawayMs: number;
  #session: Promise<Session>;
  #closed = false;

  private constructor(data: EmbeddedWorkerData, session: Session, { waitMs, runawayMs = RUNAWAY_MS }: EngineLimits) {
    this.#data = data;
    this.#session = Promise.resolve(session);
    this.#turns = new OneAtATime(waitMs);
    this.#runawayMs = runawayMs;
    this.#watch(session);
  }

  /** @throws Error with Postgres' own message when the data cannot be opened */
  static async open(data: EmbeddedWorkerData, limits: EngineLimits): Promise<EmbeddedEngine> {
    return new EmbeddedEngine(data, await start(data), limits);
  }

  async acquire(signal: AbortSignal, patient = false): Promise<Lease> {
    await this.#turns.enter(signal, patient);
    try {
      const { worker, client } = await this.#session;
      return {
        client,
        release: () => this.#turns.leave(),
        abandon: (running) => void this.#settle(worker, client, running),
      };
    } catch (error) {
      this.#turns.leave();
      throw error;
    }
  }

  /** The whole data directory as a tar file, to start another database from. */
  async dump(): Promise<Uint8Array> {
    const lease = await this.acquire(new AbortController().signal, true);
    try {
      const { worker } = await this.#session;
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
    await this.#turns.enter(new AbortController().signal, true);
    const session = await this.#session.catch(() => undefined);
    if (session === undefined) return;
    const { worker, ended } = session;
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
    this.#turns.leave();
  }

  /** A thread that ends without being asked is replaced, where the data outlives it. */
  #watch(session: Session): void {
    void session.ended.then(() => {
      if (this.#closed) return;
      const { dataDir } = this.#data;
      this.#session =
        dataDir === undefined
          ? Promise.reject(backendUnavailable({ retryable: false, detail: "the embedded database has ended" }))
          : start({ dataDir });
      this.#session.then((next) => this.#watch(next)).catch(() => {});
    });
  }
}
