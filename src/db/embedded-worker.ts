import { readFile } from "node:fs/promises";
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";

/**
 * The embedded database's thread: Postgres in WebAssembly, fed with wire protocol. A running query freezes this thread and no
 * other.
 */

export interface EmbeddedWorkerData {
  /** Absent = in memory, gone with the thread. */
  readonly dataDir?: string;
  /** A dumped data directory (tar) to start from. */
  readonly dump?: string;
}

/** What the thread says besides wire protocol. */
export type EmbeddedWorkerMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "dump"; readonly tar: Uint8Array };

export type EmbeddedWorkerRequest = { readonly kind: "dump" } | { readonly kind: "close" };

const port = parentPort;
if (port === null) throw new Error("embedded-worker.ts runs as a worker thread only");
const say = (message: EmbeddedWorkerMessage) => port.postMessage(message);

/** Only wire protocol goes through this one, so it need not ask the database for the types of PGlite's own query functions. */
class Engine extends PGlite {
  override async _initArrayTypes(): Promise<void> {}
}

async function open({ dataDir, dump }: EmbeddedWorkerData): Promise<PGlite> {
  const loadDataDir = dump === undefined ? undefined : new Blob([await readFile(dump)]);
  const engine = new Engine({
    extensions: { vector },
    ...(dataDir !== undefined && { dataDir }),
    ...(loadDataDir !== undefined && { loadDataDir }),
  });
  await engine.waitReady;
  return engine;
}

async function answer(database: PGlite, message: Uint8Array | EmbeddedWorkerRequest): Promise<void> {
  if (message instanceof Uint8Array) {
    const pieces: Uint8Array[] = [];
    await database.execProtocolRawStream(message, { onRawData: (data) => pieces.push(data.slice()) });
    port?.postMessage(Buffer.concat(pieces));
  } else if (message.kind === "dump") {
    const dump = await database.dumpDataDir("none");
    say({ kind: "dump", tar: new Uint8Array(await dump.arrayBuffer()) });
  } else {
    await database.close();
    port?.close();
  }
}

try {
  const database = await open(workerData as EmbeddedWorkerData);
  let turn: Promise<void> = Promise.resolve();
  port.on("message", (message: Uint8Array | EmbeddedWorkerRequest) => {
    turn = turn.then(() => answer(database, message));
  });
  say({ kind: "ready" });
} catch (error) {
  say({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  port.close();
}
