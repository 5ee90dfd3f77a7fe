import type { TenantId } from "../catalog/corpus.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import { vectorLiteral } from "../sql/vector-literal.ts";

/** Embeds documents' texts, `batch` at a time, as pgvector literals in their order. */
export async function embedInBatches(
  model: EmbeddingModel,
  texts: readonly string[],
  batch: number,
  signal: AbortSignal,
  party: TenantId,
): Promise<readonly string[]> {
  const literals: string[] = [];
  for (let from = 0; from < texts.length; from += batch) {
    const vectors = await model.embed(texts.slice(from, from + batch), "document", signal, party);
    for (const vector of vectors) literals.push(vectorLiteral(vector));
  }
  return literals;
}
