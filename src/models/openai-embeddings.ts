import type { Config } from "../config/config.ts";
import { batches } from "./batches.ts";
import type { EmbeddingModel } from "./embedding.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { ModelServer } from "./model-server.ts";
import { parseEmbeddings } from "./parse-embeddings.ts";

export type OpenAiEmbeddingConfig = Extract<Config["models"]["embedding"], { provider: "openai" }>;

/** Room for the answer's envelope, and for one number with its comma at full precision, indented. */
const RESPONSE_OVERHEAD_BYTES = 1_048_576;
const BYTES_PER_NUMBER = 48;

/**
 * The embeddings of any server that speaks OpenAI's `POST /v1/embeddings`.
 *
 * Texts go out in batches, queries before documents. `countTokens` is an estimate that errs on the high side, since the server's
 * tokenizer is unknown.
 */
export function openAiEmbeddingModel(config: OpenAiEmbeddingConfig): EmbeddingModel {
  const { dimension, model } = config;
  const kind = { path: "embeddings", name: "the embedding server" };
  const server = new ModelServer<Float32Array[]>(config, kind);
  return {
    space: { identity: `${model}@${dimension}`, dimension },
    maxTokens: config.maxTokens,
    isRepeatable: config.repeatable,
    async countTokens(texts) {
      return texts.map((text) => estimateTokens(config.documentPrefix + text));
    },
    async embed(texts, kind, signal, party) {
      const prefix = kind === "query" ? config.queryPrefix : config.documentPrefix;
      const requests = batches(texts, config.batch).map((batch) => ({
        body: { model, input: batch.map((text) => (prefix + text).normalize("NFC")), encoding_format: "float" },
        maxResponseBytes: RESPONSE_OVERHEAD_BYTES + batch.length * dimension * BYTES_PER_NUMBER,
        parse: (answer: unknown) => parseEmbeddings(answer, batch.length, dimension),
      }));
      return (await server.ask(kind, requests, signal, party)).flat();
    },
    // Only the next call can tell whether the server is there.
    isReady: () => server.isOpen,
    close: async () => server.close(),
  };
}
