import { z } from "zod";
import { ProviderFailure } from "./provider-failure.ts";
import { toUnitVector } from "./unit-vector.ts";

const answerSchema = z.object({ data: z.array(z.object({ index: z.int(), embedding: z.unknown() })) });

/**
 * The unit vectors in an answer to `POST /v1/embeddings`, in the order of the texts that were sent.
 *
 * @param answer parsed JSON, otherwise unchecked
 * @throws ProviderFailure when a vector is missing, doubled, of another dimension, not finite or nothing but zeros
 */
export function parseEmbeddings(answer: unknown, count: number, dimension: number): Float32Array[] {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw unusable("no list of embeddings");
  const { data } = parsed.data;
  if (data.length !== count) throw unusable(`${data.length} embeddings for ${count} texts`);
  const vectors = new Map<number, Float32Array>();
  for (const { index, embedding } of data) {
    const vector = toUnitVector(embedding, dimension);
    if (!vector) throw unusable(`an embedding that is not ${dimension} finite numbers, some of them not 0`);
    vectors.set(index, vector);
  }
  return Array.from({ length: count }, (_, index) => {
    const vector = vectors.get(index);
    if (!vector) throw unusable("embeddings whose indexes are not 0, 1, 2 …");
    return vector;
  });
}

const unusable = (what: string) => new ProviderFailure(`answered ${what}`, { temporary: false });
