import type { Config } from "../config/config.ts";
import { utf8Bytes } from "../protocol/text.ts";
import { batches } from "./batches.ts";
import { ModelServer } from "./model-server.ts";
import { parseScores } from "./parse-scores.ts";
import type { Reranker } from "./reranker.ts";

export type RerankerConfig = NonNullable<Config["models"]["reranker"]>;

interface Spelling {
  body(model: string, query: string, passages: readonly string[]): Readonly<Record<string, unknown>>;
  /** Passages of one request unless the configuration says otherwise. */
  readonly batch: number;
}

/** How each provider spells the request. All of them answer in `parse-scores.ts`'s two shapes. */
const SPELLINGS = {
  cohere: {
    body: (model, query, documents) => ({ model, query, documents, top_n: documents.length }),
    batch: 100, // what one search is billed for
  },
  jina: {
    body: (model, query, documents) => ({
      model,
      query,
      documents,
      top_n: documents.length,
      return_documents: false,
    }),
    batch: 100,
  },
  tei: {
    body: (_model, query, texts) => ({ query, texts, truncate: true }), // it refuses longer texts otherwise
    batch: 32, // its --max-client-batch-size unless set
  },
} as const satisfies Record<RerankerConfig["provider"], Spelling>;

const RESPONSE_OVERHEAD_BYTES = 1_048_576;

/**
 * The scores of any server that speaks Cohere's, Jina's or Text Embeddings Inference's `POST …/rerank`.
 *
 * Providers refuse blank passages: these are not sent and score as low as the lowest of the others.
 */
export function httpReranker(config: RerankerConfig): Reranker {
  const { model, method, maxCandidates, provider } = config;
  const { body, batch }: Spelling = SPELLINGS[provider];
  const kind = { path: "rerank", name: "the reranker" };
  const server = new ModelServer<number[]>(config, kind);
  return {
    identity: model,
    method,
    maxCandidates,
    async score(query, passages, signal, party) {
      const sent = passages.filter((passage) => !isBlank(passage)).map((passage) => passage.normalize("NFC"));
      const requests = batches(sent, config.batch ?? batch).map((texts) => ({
        body: body(model, query.normalize("NFC"), texts),
        // Some send the passages back whatever they are told.
        maxResponseBytes: RESPONSE_OVERHEAD_BYTES + 2 * texts.reduce((sum, text) => sum + utf8Bytes(text), 0),
        parse: (answer: unknown) => parseScores(answer, texts.length),
      }));
      const scores = (await server.ask("query", requests, signal, party)).flat();
      const lowest = scores.reduce((least, score) => Math.min(least, score), scores[0] ?? 0);
      const next = scores.values();
      return passages.map((passage) => (isBlank(passage) ? lowest : (next.next().value ?? lowest)));
    },
    close: async () => server.close(),
  };
}

const isBlank = (text: string): boolean => text.trim() === "";
