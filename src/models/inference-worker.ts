import { parentPort, workerData } from "node:worker_threads";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { cutTokens, loadTokenizer } from "./tokenizer.ts";

/**
 * The thread that owns the model: it answers one request after another and never touches the server's event loop.
 *
 * One text is one inference. A batch would make a text's vector depend on its neighbours in the last bits, would spend
 * time on padding, and is no faster once the threads are busy with one text (measured in models/README.md).
 */

export interface WorkerInput {
  readonly weights: Uint8Array<ArrayBuffer>;
  readonly tokenizer: unknown;
  readonly maxTokens: number;
  readonly threads: number;
}

export type WorkerRequest =
  | { readonly task: "embed"; readonly text: string }
  | { readonly task: "count"; readonly texts: readonly string[] };

export interface WorkerAnswer {
  readonly kind: "answer";
  /** The number of tokens of each text, special tokens included, uncut. */
  readonly tokens: readonly number[];
  /** What the model gave, unchecked; only when the task was to embed. */
  readonly vector?: Float32Array;
}

export type WorkerReply =
  | { readonly kind: "ready" }
  | WorkerAnswer
  | { readonly kind: "failed"; readonly message: string };

const SESSION_OPTIONS = {
  interOpNumThreads: 1,
  // Texts differ in length, so memory planned for one shape is of no use to the next.
  enableMemPattern: false,
  logSeverityLevel: 3,
  // Idle inference threads sleep instead of spinning: the database and the event loop need the cores.
  extra: { session: { intra_op: { allow_spinning: "0" } } },
} as const;

const port = parentPort;
if (port === null) throw new Error("inference-worker.ts runs as a worker thread only");
const input = workerData as WorkerInput;
const tokenIds = loadTokenizer(input.tokenizer);
const session = await InferenceSession.create(input.weights, { ...SESSION_OPTIONS, intraOpNumThreads: input.threads });

port.on("message", (request: WorkerRequest) => {
  answer(request).then(
    (reply) => port.postMessage(reply),
    (error: unknown) => port.postMessage({ kind: "failed", message: String(error) } satisfies WorkerReply),
  );
});
port.postMessage({ kind: "ready" } satisfies WorkerReply);

async function answer(request: WorkerRequest): Promise<WorkerAnswer> {
  if (request.task === "count") {
    return { kind: "answer", tokens: request.texts.map((text) => tokenIds(text).length) };
  }
  const ids = tokenIds(request.text);
  return { kind: "answer", tokens: [ids.length], vector: await embed(cutTokens(ids, input.maxTokens)) };
}

async function embed(ids: readonly number[]): Promise<Float32Array> {
  const shape = [1, ids.length];
  const output = await session.run({ input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), shape) });
  return Float32Array.from(output.sentence_embedding?.data as Float32Array);
}
