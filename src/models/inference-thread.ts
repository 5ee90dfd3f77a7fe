import { Worker } from "node:worker_threads";
import { backendUnavailable } from "../protocol/errors.ts";
import { ExitCode, ExpectedFailure, PlainError } from "../protocol/failure.ts";
import type { WorkerAnswer, WorkerInput, WorkerReply, WorkerRequest } from "./inference-worker.ts";

// The sources run as they are, and so do the compiled files: a worker starts from the file of its own kind.
const WORKER = new URL(
  import.meta.url.endsWith(".ts") ? "./inference-worker.ts" : "./inference-worker.js",
  import.meta.url,
);

/** The files are as they should be, and the inference runtime does not work with them here. */
export class ModelNotRunnable extends ExpectedFailure {
  override readonly name = "ModelNotRunnable";
  readonly exitCode = ExitCode.environment;
  readonly remedy =
    "use Linux with glibc, macOS or Windows and 500 MB of free memory, or set models.embedding to an OpenAI-compatible server";

  constructor(cause: Error) {
    super("the built-in embedding model cannot run on this machine", { cause });
  }
}

/** One worker thread with a model in it, asked one thing at a time. */
export interface InferenceThread {
  /** @throws RpcError -32010 when inference fails or the thread is gone */
  ask(request: WorkerRequest): Promise<WorkerAnswer>;
  /** Settles when the thread is gone, with the reason. */
  readonly ended: Promise<Error>;
  /** Waits for what was asked last. */
  close(): Promise<void>;
}

/**
 * Starts a worker thread and resolves when its model answers.
 *
 * @throws ModelNotRunnable when the runtime cannot load the model
 */
export async function startInferenceThread(input: WorkerInput): Promise<InferenceThread> {
  // onnxruntime reports its use to its makers unless told not to; it reads the process's own environment, not a worker's copy.
  process.env.ORT_DISABLE_TELEMETRY ??= "1";
  const worker = new Worker(WORKER, { workerData: input, name: "embedding", transferList: [input.weights.buffer] });
  const { promise: ended, resolve: end } = Promise.withResolvers<Error>();
  let waiting = Promise.withResolvers<WorkerReply>();
  let gone: Error | undefined;
  const fail = (cause: Error) => {
    gone ??= cause;
    waiting.reject(gone);
    end(gone);
  };
  worker.on("message", (reply: WorkerReply) => waiting.resolve(reply));
  worker.on("error", fail);
  worker.on("exit", (code) => fail(new PlainError(`the embedding thread ended with exit code ${code}`)));
  await waiting.promise.catch((cause: Error) => {
    throw new ModelNotRunnable(cause);
  });
  return {
    ended,
    async ask(request) {
      waiting = Promise.withResolvers<WorkerReply>();
      if (gone) waiting.reject(gone);
      else worker.postMessage(request);
      const reply = await waiting.promise.catch((cause: Error) => {
        throw modelFailed(cause, true);
      });
      if (reply.kind === "answer") return reply;
      throw modelFailed(
        new Error(reply.kind === "failed" ? reply.message : "the embedding thread started twice"),
        false,
      );
    },
    async close() {
      // Ended in the middle of an inference, the runtime aborts the whole process.
      await waiting.promise.catch(() => {});
      await worker.terminate();
    },
  };
}

const modelFailed = (cause: Error, retryable: boolean) =>
  backendUnavailable({ retryable, detail: "the built-in embedding model failed" }, { cause });
