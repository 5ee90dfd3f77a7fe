import { SeededRandom } from "../test/support/seeded-random.ts";
import type { Embedded } from "./sentences.ts";

/** What a corpus holds and is asked. */
export interface Vectors {
  readonly origin: string;
  readonly dimension: number;
  text(chunk: number): string;
  /** Of unit length. */
  chunk(chunk: number): Float32Array;
  /** The first two chunks. */
  readonly sides: readonly [Float32Array, Float32Array];
  /** The same for the same number. */
  question(topic: Topic, number: number): Float32Array;
}

/** Where a question lies: near chunks, at some distance from all of them, or in a random direction, far from every one. */
export const TOPICS = ["on", "beside", "off"] as const;
export type Topic = (typeof TOPICS)[number];

const DIMENSION = 384;
const CENTRES = 1_000;
/** Directions in which a cluster spreads: about what sentences on one subject have. */
const SPREAD_DIRECTIONS = 16;
const SPREAD = 0.6;
/** Chunks have the numbers below. */
const FIRST_QUESTION = 1_000_000_000;
const SEED = 2_026;

/**
 * A mixture of Gaussians on the sphere of 384 dimensions: a thousand centres in random directions unless another number is asked for, all as likely. Each has sixteen random
 * directions of its own, and a vector is its centre plus 0.6 / √16 times a standard normal draw along each of them, made one long: the
 * cosine of two vectors of one cluster is about .73, of two clusters about 0. Questions on topic are further draws from the same clusters,
 * those beside it lie halfway between such a draw and a random direction, and those off topic are random directions.
 */
export function syntheticVectors({ centres = CENTRES }: { readonly centres?: number } = {}): Vectors {
  const clusters = new Map<number, readonly Float32Array[]>();
  const clusterOf = (number: number): readonly Float32Array[] => {
    const known = clusters.get(number);
    if (known !== undefined) return known;
    const random = new SeededRandom(SEED + number);
    const made = Array.from({ length: SPREAD_DIRECTIONS + 1 }, () => randomDirection(random));
    clusters.set(number, made);
    return made;
  };
  const draw = (number: number): Float32Array => {
    const random = new SeededRandom(SEED * 7 + number);
    const [centre, ...directions] = clusterOf(random.integer(0, centres - 1));
    const sum = Float32Array.from(centre ?? []);
    for (const direction of directions) {
      const step = (normal(random) * SPREAD) / Math.sqrt(SPREAD_DIRECTIONS);
      for (let at = 0; at < DIMENSION; at++) sum[at] = (sum[at] ?? 0) + step * (direction[at] ?? 0);
    }
    return unit(sum);
  };
  return {
    origin: "synthetic clusters (bench/vectors.ts)",
    dimension: DIMENSION,
    text: (chunk) => `Chunk ${chunk} stands for a passage of some length.`,
    chunk: draw,
    sides: [draw(0), draw(1)],
    question: (topic, number) => questionAt(topic, number, draw(FIRST_QUESTION + number)),
  };
}

/**
 * Sentences of a collection. Questions on topic are its own; those beside it are on other subjects, or lie halfway to a random direction
 * where there are none; those off topic are random directions.
 */
export function sentenceVectors(sentences: Embedded, questions: Embedded, others: Embedded | undefined): Vectors {
  const at = (embedded: Embedded, number: number) => embedded.vectorOf(number % embedded.texts.length);
  return {
    origin: "sentences, by the built-in model",
    dimension: DIMENSION,
    text: (chunk) => sentences.texts[chunk] ?? "",
    chunk: (chunk) => sentences.vectorOf(chunk),
    sides: [sentences.vectorOf(0), sentences.vectorOf(1)],
    question: (topic, number) =>
      topic === "beside" && others !== undefined
        ? at(others, number)
        : questionAt(topic, number, at(questions, number)),
  };
}

function questionAt(topic: Topic, number: number, near: Float32Array): Float32Array {
  if (topic === "on") return near;
  const far = randomDirection(new SeededRandom(SEED * 11 + number));
  return topic === "off" ? far : unit(near.map((value, at) => value + (far[at] ?? 0)));
}

const randomDirection = (random: SeededRandom): Float32Array =>
  unit(Float32Array.from({ length: DIMENSION }, () => normal(random)));

/** By Box and Muller. */
const normal = (random: SeededRandom): number =>
  Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction());

function unit(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  return vector.map((value) => value / Math.sqrt(squares));
}

export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
