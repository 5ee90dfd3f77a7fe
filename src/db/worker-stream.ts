import { Duplex } from "node:stream";
import type { Worker } from "node:worker_threads";

/** A thread that failed, as a socket says it: whoever waits for an answer has lost the connection. */
const lostConnection = (cause: unknown): Error =>
  Object.assign(new Error("the embedded database's thread failed", { cause }), { code: "ECONNRESET" });

/** A worker's messages as the socket that pg speaks its wire protocol over. */
export class WorkerStream extends Duplex {
  readonly #worker: Worker;

  constructor(worker: Worker) {
    super();
    this.#worker = worker;
    worker.on("message", (message: unknown) => {
      if (message instanceof Uint8Array) this.push(message);
    });
    worker.on("error", (cause) => this.destroy(lostConnection(cause)));
    worker.on("exit", () => this.destroy());
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#worker.postMessage(chunk);
    done();
  }

  /** A corked batch is one message: one turn of the database. */
  override _writev(chunks: { chunk: Uint8Array }[], done: () => void): void {
    this.#worker.postMessage(Buffer.concat(chunks.map(({ chunk }) => chunk)));
    done();
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  /** pg treats its stream as a socket. */
  connect(): void {
    process.nextTick(() => this.emit("connect"));
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}
