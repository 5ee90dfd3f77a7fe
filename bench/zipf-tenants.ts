import { SeededRandom } from "../test/support/seeded-random.ts";
import { drawWord } from "../test/support/zipf-corpus.ts";
import { syntheticVectors, type Vectors } from "./vectors.ts";

/** Tenants of which the nth has 1/n of the first one's chunks, and is called upon as often. */

/** Of a tenant's chunks, those that are loaded and those that are written later: each has a number of its own among all tenants'. */
const MOST_CHUNKS = 1_000_000;
const WORDS_PER_TEXT = 30;
const WORDS_PER_QUESTION = 4;
/** Subjects, so that a large tenant has many chunks on each. */
const CENTRES = 100;

export interface ZipfTenant {
  readonly name: string;
  readonly chunks: number;
  /** As it is loaded; chunks that are written later have higher numbers. */
  readonly vectors: Vectors;
  idOf(chunk: number): string;
  /** Whether a hit is one of its own, by its id and by its text. */
  owns(hit: { readonly id: string; readonly text?: string }): boolean;
  question(number: number): { readonly text: string; readonly vector: Float32Array };
}

export interface ZipfTenants {
  /** Largest first. */
  readonly all: readonly ZipfTenant[];
  /** The vector of a text that is written. */
  vectorOf(text: string): Float32Array;
  choose(random: SeededRandom): ZipfTenant;
}

/** @returns of so many tenants, the first's share of all, the second's, and so on */
export function zipfShares(tenants: number): number[] {
  const weights = Array.from({ length: tenants }, (_, index) => 1 / (index + 1));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** @param shares that sum up to one @returns the place of the one that a fraction of the whole falls on */
export function placeOf(fraction: number, shares: readonly number[]): number {
  let end = 0;
  for (const [place, share] of shares.entries()) {
    end += share;
    if (fraction < end) return place;
  }
  return shares.length - 1; // by rounding, the sum may be less than one
}

export function zipfTenants({ tenants, chunks }: { readonly tenants: number; readonly chunks: number }): ZipfTenants {
  const vectors = syntheticVectors({ centres: CENTRES });
  const shares = zipfShares(tenants);
  const all = shares.map((share, number) => tenantOf(number, Math.round(share * chunks), vectors));
  return {
    all,
    vectorOf: (text) => vectors.chunk(numberIn(text)),
    choose: (random) => all[placeOf(random.fraction(), shares)] as ZipfTenant,
  };
}

function tenantOf(number: number, chunks: number, vectors: Vectors): ZipfTenant {
  const name = `tenant-${number + 1}`;
  const first = number * MOST_CHUNKS;
  return {
    name,
    chunks,
    vectors: {
      ...vectors,
      chunk: (chunk) => vectors.chunk(first + chunk),
      text: (chunk) => `passage ${first + chunk} ${wordsOf(first + chunk, WORDS_PER_TEXT)}`,
    },
    idOf: (chunk) => `${name}/${chunk}`,
    owns: ({ id, text = "" }) => id.startsWith(`${name}/`) && Math.floor(numberIn(text) / MOST_CHUNKS) === number,
    question: (asked) => ({
      text: `${name} asks ${wordsOf(-first - asked - 1, WORDS_PER_QUESTION)}`,
      vector: vectors.question("on", first + asked),
    }),
  };
}

const numberIn = (text: string): number => Number(/^passage (\d+) /.exec(text)?.[1]);

function wordsOf(seed: number, words: number): string {
  const random = new SeededRandom(seed);
  return Array.from({ length: words }, () => drawWord(random)).join(" ");
}
