import { countTerms, queryTerms, tokenize } from "../../src/catalog/tokenize.ts";
import { configSchema } from "../../src/config/config.ts";
import type { Fusion } from "../../src/plan/retrieval-plan.ts";
import type { Indexing } from "./indexed-collection.ts";

/** Everything that the experiment may change, and the server's defaults for it. */
export interface Settings {
  readonly indexing: Indexing;
  /** Of catalog/languages.ts; absent = the collection's own. */
  readonly language?: string | undefined;
  /** Whether queries leave out words that tell nothing. */
  readonly stopWords: boolean;
  readonly candidateK: number;
  readonly fusion: Fusion;
}

/** One thing that is done otherwise. */
export interface Variant {
  readonly factor: "fusion" | "candidates" | "words" | "title" | "chunks";
  readonly name: string;
  readonly change: Partial<Settings>;
}

const { indexing, retrieval } = configSchema.parse({ auth: { mode: "none" } });

export const DEFAULTS: Settings = {
  indexing: { chunkTokens: indexing.chunkTokens, overlapTokens: indexing.overlapTokens, titled: true },
  stopWords: true,
  candidateK: retrieval.defaultCandidateK,
  fusion: fusionOf(retrieval.fusion),
};

function fusionOf({ method, alpha, rrfK }: typeof retrieval.fusion): Fusion {
  const weights = { dense: 1, sparse: 1 };
  if (method === "convex") return { method, alpha };
  return method === "rrf" ? { method, rrfK, weights } : { method, weights };
}

const tenths = (from: number, to: number): number[] =>
  Array.from({ length: Math.round((to - from) * 20) + 1 }, (_, step) => Math.round((from + step / 20) * 100) / 100);

const FUSIONS: readonly Fusion[] = [
  ...tenths(0.5, 0.9).map((alpha) => ({ method: "convex", alpha }) as const),
  ...[0.3, 0.4, 0.5, 0.6, 0.7].map(
    (dense) => ({ method: "weighted", weights: { dense, sparse: Math.round((1 - dense) * 100) / 100 } }) as const,
  ),
  ...[10, 20, 60, 100].map((rrfK) => ({ method: "rrf", rrfK, weights: { dense: 1, sparse: 1 } }) as const),
];

export function nameOf(fusion: Fusion): string {
  switch (fusion.method) {
    case "convex":
      return `convex, α ${fusion.alpha}`;
    case "weighted":
      return `weighted, dense ${fusion.weights.dense}`;
    case "rrf":
      return `rrf, k ${fusion.rrfK}`;
  }
}

export const FUSION_VARIANTS: readonly Variant[] = FUSIONS.map((fusion) => ({
  ...{ factor: "fusion", name: nameOf(fusion), change: { fusion } },
}));

export const READING_VARIANTS: readonly Variant[] = [
  ...[50, 300].map(
    (candidateK): Variant => ({
      ...{ factor: "candidates", name: `${candidateK} candidates a list`, change: { candidateK } },
    }),
  ),
  { factor: "words", name: "stop words stay in queries", change: { stopWords: false } },
  { factor: "words", name: "no stemming, no stop words (none)", change: { language: "none" } },
];

const chunks = (name: string, change: Partial<Indexing>): Variant => ({
  factor: "titled" in change ? "title" : "chunks",
  name,
  change: { indexing: { ...DEFAULTS.indexing, ...change } },
});

export const CHUNK_VARIANTS: readonly Variant[] = [
  ...[
    [256, 0],
    [256, 32],
    [256, 64],
    [192, 32],
    [128, 32],
  ].map(([chunkTokens = 0, overlapTokens = 0]) =>
    chunks(`${chunkTokens} tokens, ${overlapTokens} of overlap`, { chunkTokens, overlapTokens }),
  ),
  chunks("one chunk a document", { chunkTokens: Number.POSITIVE_INFINITY, overlapTokens: 0 }),
  chunks("title not read with chunks", { titled: false }),
];

export const termsOf = (text: string, language: string, { stopWords }: Settings): ReadonlyMap<string, number> =>
  stopWords ? queryTerms(text, language) : countTerms(tokenize(text, language));
