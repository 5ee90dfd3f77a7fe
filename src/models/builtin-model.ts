import { availableParallelism } from "node:os";
import { pathToFileURL } from "node:url";
import type { Observe } from "../observability/observation.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import type { EmbeddingModel } from "./embedding.ts";
import { startInferenceThread } from "./inference-thread.ts";
import { keepThread } from "./kept-thread.ts";
import { type ModelFiles, ModelFilesError, type ModelManifest, readModelFiles } from "./model-files.ts";
import { toUnitVector } from "./unit-vector.ts";
import { WorkQueue } from "./work-queue.ts";

/** Calls that may wait for each of: queries, counts, documents. */
const MAX_WAITING_CALLS = 512;

/** UTF-16 units that are counted in one go: about as long as one inference. */
const COUNT_SLICE_LENGTH = 65_536;

export interface BuiltinModelOptions {
  /** The model's directory, with its manifest.json. */
  readonly directory: URL | string;
  /** Inference threads; 0 = one per core. */
  readonly threads: number;
}

/**
 * The encoder that comes with the server, on its own thread. Vectors are the same bits for the same text, whatever else is
 * being embedded. A query goes before waiting documents, so it waits for one document at most, and
 * tenants take turns. A thread that crashed is started
 * again.
 *
 * @param observe told when the thread has to be started again
 * @throws ModelFilesError when a file is missing or is not the pinned one; ModelNotRunnable
 */
export async function loadBuiltinModel(
  options: BuiltinModelOptions,
  observe: Observe = () => {},
): Promise<EmbeddingModel> {
  const directory = toDirectoryUrl(options.directory);
  let files: ModelFiles | undefined = await readModelFiles(directory);
  const { manifest, weightsHash } = files;
  const { dimension, maxTokens } = manifest;
  const thread = await keepThread(async () => {
    const { weights, tokenizer } = files ?? (await readSameFiles(directory, manifest));
    files = undefined; // The thread has taken the weights; the next one reads them again.
    return await startInferenceThread({
      weights,
      tokenizer,
      maxTokens,
      threads: options.threads || availableParallelism(),
    });
  }, observe);
  // One at a time: the runtime already spreads one inference over all threads.
  const queue = new WorkQueue({
    name: "the built-in embedding model",
    run: thread.ask,
    concurrency: 1,
    maxWaitingCalls: MAX_WAITING_CALLS,
  });
  return {
    space: { identity: `${manifest.name}@${weightsHash.slice(0, 12)}`, dimension },
    maxTokens,
    isRepeatable: true,
    async countTokens(texts, party) {
      const requests = slices(texts, COUNT_SLICE_LENGTH).map((slice) => ({ task: "count" as const, texts: slice }));
      return (await queue.submit("count", requests, undefined, party)).flatMap((answer) => answer.tokens);
    },
    async embed(texts, kind, signal, party) {
      const requests = texts.map((text) => ({ task: "embed" as const, text }));
      const answers = await queue.submit(kind, requests, signal, party);
      return answers.map((answer) => {
        const vector = toUnitVector(answer.vector, dimension);
        if (vector) return vector;
        throw backendUnavailable({ retryable: false, detail: "the built-in embedding model gave no usable vector" });
      });
    },
    isReady: () => thread.isUp(),
    async close() {
      queue.close(backendUnavailable({ retryable: false, detail: "the embedding model is closed" }));
      await thread.close();
    },
  };
}

/** What was read at first, or nothing: vectors of another model would stand in the same space. */
async function readSameFiles(directory: URL, before: ModelManifest): Promise<ModelFiles> {
  const files = await readModelFiles(directory);
  if (JSON.stringify(files.manifest) !== JSON.stringify(before)) throw new ModelFilesError("manifest.json", "replaced");
  return files;
}

/** The texts in runs of at most `length` in all, or of one text that is longer. */
function slices(texts: readonly string[], length: number): string[][] {
  const runs: string[][] = [];
  let room = 0;
  for (const text of texts) {
    if (text.length > room || runs.length === 0) {
      runs.push([]);
      room = length;
    }
    runs.at(-1)?.push(text);
    room -= text.length;
  }
  return runs;
}

function toDirectoryUrl(directory: URL | string): URL {
  const url = typeof directory === "string" ? pathToFileURL(directory) : directory;
  return url.href.endsWith("/") ? url : new URL(`${url.href}/`);
}
