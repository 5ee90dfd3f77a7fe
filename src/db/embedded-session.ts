import { Worker } from "node:worker_threads";
import pg from "pg";
import type { EmbeddedWorkerData, EmbeddedWorkerMessage } from "./embedded-worker.ts";
import { WorkerStream } from "./worker-stream.ts";

/** Beside this file, as source or as built. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith(".ts") ? "./embedded-worker.ts" : "./embedded-worker.js",
  import.meta.url,
);

/** A thread with the embedded database in it, and the connection to it. */
export interface EmbeddedSession {
  readonly worker: Worker;
  readonly client: pg.Client;
  /** Resolves when the thread is gone. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
}

/**
 * Starts a thread and connects to the database in it. One that does not get so far is not left behind.
 *
 * @throws Error with Postgres' own message when the data cannot be opened
 */
export async function startSession(data: EmbeddedWorkerData): Promise<EmbeddedSession> {
  const worker = new Worker(WORKER_FILE, { workerData: data });
  let over = false;
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      over = true;
      resolve();
    });
  });
  try {
    await isReady(worker);
    return { worker, client: await connect(worker), ended, hasEnded: () => over };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

function isReady(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the embedded database's thread ended while it started")));
    worker.once("message", (message: EmbeddedWorkerMessage) => {
      if (message.kind === "failed") reject(new Error(message.message));
      else resolve();
    });
  });
}

async function connect(worker: Worker): Promise<pg.Client> {
  const client = new pg.Client({
    user: "postgres",
    database: "postgres",
    host: "127.0.0.1",
    // PGSSLMODE in the environment is about another database.
    ssl: false,
    stream: () => new WorkerStream(worker),
  });
  client.on("error", () => {});
  await client.connect();
  return client;
}
