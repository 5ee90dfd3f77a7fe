import type { TenantId } from "../catalog/corpus.ts";
import { someAtATime } from "../load/some-at-a-time.ts";
import { batches } from "../models/batches.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import { vectorLiteral } from "../sql/halfvec.ts";

/** Batches of one call at a time: while one is answered, the model has the other. How many run is the model's to say. */
const AT_A_TIME = 2;

/**
 * Embeds documents' texts, `batch` in a call of the model, as pgvector literals in their order.
 *
 * @throws what the first batch to fail threw; no further one is sent then
 */
export async function embedInBatches(
  model: EmbeddingModel,
  texts: readonly string[],
  batch: number,
  signal: AbortSignal,
  party: TenantId,
): Promise<readonly string[]> {
  const literals: (readonly string[])[] = [];
  await someAtATime(batches(texts, batch), AT_A_TIME, async (some, index) => {
    const vectors = await model.embed(some, "document", signal, party);
    literals[index] = vectors.map(vectorLiteral);
  });
  return literals.flat();
}
