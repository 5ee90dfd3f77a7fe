import type { Corpus, EmbeddingSpace } from "../catalog/corpus.ts";
import { backendUnavailable } from "../protocol/errors.ts";

/**
 * Refuses a corpus whose vectors were made by another model than the configured one: their distances would mean nothing.
 *
 * Checked when a corpus is used and not at start: no login of the server sees a corpus without its tenant.
 *
 * @throws RpcError -32010, not retryable
 */
export function checkSpace(corpus: Corpus, configured: EmbeddingSpace): void {
  const { identity, dimension } = corpus.space;
  if (identity === configured.identity && dimension === configured.dimension) return;
  throw backendUnavailable({
    retryable: false,
    detail: "this corpus was embedded with another model than the server now has; its operator must import it again",
  });
}
