import type { Config } from "../config/config.ts";
import { batches } from "./batches.ts";
import { ModelServer } from "./model-server.ts";
import { parsePredictions } from "./parse-predictions.ts";
import type { TextClassifier } from "./text-classifier.ts";

export type ClassifierConfig = NonNullable<Config["models"]["classifier"]>;

const MAX_RESPONSE_BYTES = 1_048_576;
/** What a window repeats of the one before, so that an order across a cut is read whole. */
const OVERLAP = 0.2;

/**
 * The judgement of any text classification model behind Text Embeddings Inference's `POST …/predict`. A long text is judged in
 * windows, and suspected when one of them is.
 *
 * The server is told not to cut what is too long for its model: it refuses then, and nothing passes unread.
 */
export function httpClassifier(config: ClassifierConfig): TextClassifier {
  const server = new ModelServer<boolean[]>(config, { path: "predict", name: "the classifier" });
  return {
    onFailure: config.onFailure,
    async suspects(texts, signal, party) {
      const windows = texts.flatMap((text, index) =>
        windowsOf(text.normalize("NFC"), config.windowCharacters).map((window) => ({ index, window })),
      );
      const requests = batches(windows, config.batch).map((batch) => ({
        body: { inputs: batch.map(({ window }) => [window]), truncate: false },
        maxResponseBytes: MAX_RESPONSE_BYTES,
        parse: (answer: unknown) => parsePredictions(answer, batch.length, config),
      }));
      const judged = (await server.ask("document", requests, signal, party)).flat();
      const suspected = new Set(windows.filter((_, place) => judged[place]).map(({ index }) => index));
      return texts.map((_, index) => suspected.has(index));
    },
    close: async () => server.close(),
  };
}

/** Overlapping pieces of a text, in UTF-16 units. Blank ones are left out: providers refuse them. */
function windowsOf(text: string, size: number): string[] {
  const step = size - Math.floor(size * OVERLAP);
  const windows: string[] = [];
  for (let from = 0; from === 0 || from + size - step < text.length; from += step)
    windows.push(text.slice(from, from + size).toWellFormed());
  return windows.filter((window) => window.trim() !== "");
}
