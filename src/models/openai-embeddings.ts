import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import type { EmbeddingModel } from "./embedding.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { parseEmbeddings } from "./parse-embeddings.ts";
import { postJson } from "./post-json.ts";
import { ProviderFailure } from "./provider-failure.ts";
import { withRetries } from "./retry.ts";
import { WorkQueue } from "./work-queue.ts";

export type OpenAiEmbeddingConfig = Extract<Config["models"]["embedding"], { provider: "openai" }>;

/** Calls that may wait for each of: queries, counts, documents. */
const MAX_WAITING_CALLS = 512;

/** Room for the answer's envelope, and for one number with its comma at full precision, indented. */
const RESPONSE_OVERHEAD_BYTES = 1_048_576;
const BYTES_PER_NUMBER = 48;

interface Batch {
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * The embeddings of any server that speaks OpenAI's `POST /v1/embeddings`.
 *
 * Texts go out in batches, a bounded number of requests at a time, queries before documents. `countTokens` is an estimate
 * that errs on the high side, since the server's tokenizer is unknown. No error names the address, the key or a text.
 *
 * @throws ConfigError when the key cannot be sent in a header
 */
export function openAiEmbeddingModel(config: OpenAiEmbeddingConfig): EmbeddingModel {
  refuseUnsendableKey(config.apiKey);
  const closing = new AbortController();
  const queue = new WorkQueue({
    run: (batch: Batch) => embedBatch(config, batch),
    concurrency: config.concurrency,
    maxWaitingCalls: MAX_WAITING_CALLS,
  });
  return {
    space: { identity: `${config.model}@${config.dimension}`, dimension: config.dimension },
    maxTokens: config.maxTokens,
    async countTokens(texts) {
      return texts.map((text) => estimateTokens(config.documentPrefix + text));
    },
    async embed(texts, kind, signal) {
      const prefix = kind === "query" ? config.queryPrefix : config.documentPrefix;
      // When one batch fails or the caller goes away, the call's requests are of no use any more.
      const call = new AbortController();
      const units = batches(texts, config.batch).map((batch) => ({
        texts: batch.map((text) => (prefix + text).normalize("NFC")),
        signal: AbortSignal.any([call.signal, closing.signal]),
      }));
      try {
        return (await queue.submit(kind, units, signal)).flat();
      } finally {
        call.abort();
      }
    },
    // Only the next call can tell whether the server is there.
    isReady: () => !closing.signal.aborted,
    async close() {
      const closed = backendUnavailable({ retryable: false, detail: "the embedding model is closed" });
      queue.close(closed);
      closing.abort(closed);
    },
  };
}

async function embedBatch(config: OpenAiEmbeddingConfig, { texts, signal }: Batch): Promise<Float32Array[]> {
  const post = {
    url: embeddingsUrl(config.url),
    apiKey: config.apiKey,
    body: { model: config.model, input: texts, encoding_format: "float" },
    timeoutMs: config.timeoutMs,
    maxResponseBytes: RESPONSE_OVERHEAD_BYTES + texts.length * config.dimension * BYTES_PER_NUMBER,
    signal,
  };
  const attempt = async () => parseEmbeddings(await postJson(post), texts.length, config.dimension);
  try {
    return await withRetries(attempt, { retries: config.retries, signal });
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    throw backendUnavailable(
      {
        retryable: error.temporary,
        ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
        detail: "the embedding server gave no usable answer",
      },
      { cause: error },
    );
  }
}

/** The base URL with `/embeddings` after its path; a query, such as an API version, stays where it is. */
function embeddingsUrl(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/embeddings`;
  return url.href;
}

function refuseUnsendableKey(apiKey = ""): void {
  // fetch would refuse it too, at every request, with a message that quotes it.
  if (/[^\x21-\x7e]/.test(apiKey)) {
    throw new ConfigError(["models.embedding.apiKey: only visible ASCII characters, without spaces or line breaks"]);
  }
}

function batches<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
