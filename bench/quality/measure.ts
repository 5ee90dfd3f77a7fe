import { packPostings } from "../../src/catalog/posting-block.ts";
import { ndcgAt } from "../../src/cli/eval-metrics.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { compareScored, type ScoredCandidate } from "../../src/retrieval/candidate.ts";
import { fuse, type HybridRecall } from "../../src/retrieval/fuse.ts";
import { fullBm25 } from "../../test/support/full-bm25.ts";
import type { Collection } from "./collection.ts";
import type { QueryScores } from "./compare.ts";
import { type ChunkedCollection, indexCollection } from "./indexed-collection.ts";
import type { KeptVectors } from "./kept-vectors.ts";
import { recallFrom } from "./recall.ts";
import { type Settings, termsOf } from "./variants.ts";

export const MODES = ["sparse", "dense", "hybrid"] as const;
export type Mode = (typeof MODES)[number];

/** nDCG@10 of every query of one collection, under any settings. What two settings have in common is worked out once. */
export class Measure {
  readonly #collection: Collection;
  readonly #model: EmbeddingModel;
  readonly #vectors: KeptVectors;
  readonly #tell: (line: string) => void;
  readonly #indexes = new Map<string, Promise<ChunkedCollection>>();
  readonly #recalls = new Map<string, Promise<readonly HybridRecall[]>>();

  constructor(collection: Collection, model: EmbeddingModel, vectors: KeptVectors, tell: (line: string) => void) {
    this.#collection = collection;
    this.#model = model;
    this.#vectors = vectors;
    this.#tell = tell;
  }

  async scores(settings: Settings): Promise<Readonly<Record<Mode, QueryScores>>> {
    const recalls = await this.#recall(settings);
    const by = (rank: (recall: HybridRecall) => readonly ScoredCandidate[]) =>
      recalls.map((recall, index) =>
        this.#ndcg(
          index,
          rank(recall).map(({ docId }) => docId),
        ),
      );
    return {
      sparse: by((recall) => ordered(recall, "sparse")),
      dense: by((recall) => ordered(recall, "dense")),
      hybrid: by((recall) => fuse(recall, settings.fusion)),
    };
  }

  /** Of sparse recall with other constants than the server's: every chunk is scored, as the tests' own BM25 does it. */
  async sparseScores(settings: Settings, { k1, b }: { readonly k1: number; readonly b: number }): Promise<QueryScores> {
    const { chunks, averageLength } = await this.#index(settings);
    const packed = packPostings(chunks.map(({ terms, length }, chunkNo) => ({ chunkNo, length, counts: terms })));
    const blocksOf = Map.groupBy(packed, ({ term }) => term);
    const anyone = () => true;
    return this.#collection.queries.map(({ text }, index) => {
      const terms = termsOf(text, this.#languageOf(settings), settings);
      const blocks = [...terms.keys()].flatMap((term) => blocksOf.get(term) ?? []);
      const corpus = { liveChunks: chunks.length, averageLength, isLive: anyone, mayRank: anyone };
      const found = fullBm25({ terms, blocks, ...corpus }, k1, b).slice(0, settings.candidateK);
      return this.#ndcg(
        index,
        found.map(({ chunkNo }) => chunks[chunkNo]?.docId ?? ""),
      );
    });
  }

  /** Each document at its best chunk's place, as `pgrcp eval` counts. */
  #ndcg(query: number, docIds: readonly string[]): number {
    return ndcgAt(10, [...new Set(docIds)], this.#collection.queries[query]?.judgements ?? new Map());
  }

  #languageOf(settings: Settings): string {
    return settings.language ?? this.#collection.language;
  }

  #index(settings: Settings): Promise<ChunkedCollection> {
    const language = this.#languageOf(settings);
    const { indexing } = settings;
    const key = `${Object.values(indexing)} ${language}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const { name } = this.#collection;
    const progress = (left: number) => this.#tell(`${name}: ${left} texts to embed`);
    const index = indexCollection(this.#collection, indexing, language, this.#model, this.#vectors, progress);
    this.#indexes.set(key, index);
    return index;
  }

  #recall(settings: Settings): Promise<readonly HybridRecall[]> {
    const { indexing, stopWords, candidateK } = settings;
    const key = `${Object.values(indexing)} ${this.#languageOf(settings)} ${stopWords} ${candidateK}`;
    const known = this.#recalls.get(key);
    const recalls = known ?? this.#recallAll(settings);
    this.#recalls.set(key, recalls);
    return recalls;
  }

  async #recallAll(settings: Settings): Promise<readonly HybridRecall[]> {
    const index = await this.#index(settings);
    const { queries } = this.#collection;
    const vectors = await this.#vectors.embed(
      queries.map(({ text }) => text),
      "query",
      () => {},
    );
    const recalls: HybridRecall[] = [];
    for (const [place, { text }] of queries.entries()) {
      const terms = termsOf(text, this.#languageOf(settings), settings);
      recalls.push(await recallFrom(index, terms, vectors[place] ?? new Float32Array(), settings.candidateK));
    }
    return recalls;
  }
}

const ordered = (recall: HybridRecall, by: "dense" | "sparse"): readonly ScoredCandidate[] =>
  [...recall.candidates.values()].map((one) => ({ ...one, score: one[by] ?? 0 })).sort(compareScored);
