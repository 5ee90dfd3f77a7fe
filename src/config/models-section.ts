import { z } from "zod";
import { milliseconds, positive, url } from "./value-types.ts";

/** Goes into a header; one that cannot would be refused at every request, with a message that quotes it. */
const apiKey = z
  .string()
  .min(1)
  .regex(/^[\x21-\x7e]*$/, "only visible ASCII characters, without spaces or line breaks")
  .meta({ secret: "value" });

/** Of every model server. */
const endpoint = (timeoutMs: number) => ({
  url,
  apiKey: apiKey.optional(),
  concurrency: positive.default(4),
  timeoutMs: milliseconds.default(timeoutMs),
  retries: z.int().min(0).max(10).default(2),
});

/** Of those that serve several models, or whose model is named to callers. */
const server = (timeoutMs: number) => ({ ...endpoint(timeoutMs), model: z.string().min(1) });

const embedding = z
  .discriminatedUnion("provider", [
    z.strictObject({
      provider: z.literal("builtin"),
      /** Inference threads; 0 = one per core. */
      threads: z.int().min(0).default(0),
    }),
    z.strictObject({
      provider: z.literal("openai"),
      /** Base URL that `/embeddings` is appended to. */
      ...server(30_000),
      dimension: positive,
      maxTokens: positive.default(8_192),
      batch: positive.default(64),
      queryPrefix: z.string().default(""),
      documentPrefix: z.string().default(""),
      /** Whether a text has the same vector each time, to the last bit. */
      repeatable: z.boolean().default(false),
    }),
  ])
  .prefault({ provider: "builtin" });

const reranker = z.strictObject({
  /** How request and answer are spelled. */
  provider: z.enum(["cohere", "jina", "tei"]),
  /** Base URL that `/rerank` is appended to. */
  ...server(10_000),
  method: z.enum(["cross-encoder", "colbert", "llm"]).default("cross-encoder"),
  maxCandidates: positive.default(200),
  batch: positive.optional(),
});

const classifier = z.strictObject({
  /** Base URL that `/predict` is appended to. */
  ...endpoint(10_000),
  /** Of the model's labels, those that stand for instructions to a model. */
  labels: z.array(z.string().min(1)).min(1),
  threshold: z.number().gt(0).max(1).default(0.5),
  batch: positive.default(32),
  windowCharacters: z.int().min(50).default(500),
  onFailure: z.enum(["fail", "suspect"]).default("fail"),
});

const generator = z.strictObject({
  /** Base URL that `/chat/completions` is appended to. */
  ...server(30_000),
  /** null = not sent. */
  temperature: z.number().min(0).max(2).nullable().default(0),
  maxTokensName: z.enum(["max_tokens", "max_completion_tokens"]).default("max_tokens"),
  reasoningTokens: z.int().min(0).default(0),
});

export const models = z
  .strictObject({
    embedding,
    reranker: reranker.optional(),
    generator: generator.optional(),
    classifier: classifier.optional(),
  })
  .prefault({});
