import type { TenantId } from "../catalog/corpus.ts";
import type { RerankMethod } from "../protocol/wire.ts";

/** Scores passages against a query, each pair by itself. */
export interface Reranker {
  /** What the provider calls its model. */
  readonly identity: string;
  /** What kind of model it is, as it is advertised (RCP §6 `rerank.methods`). */
  readonly method: RerankMethod;
  /** Most passages of one call. */
  readonly maxCandidates: number;
  /**
   * One score per passage, in the passages' order; finite, and higher is better.
   *
   * @param party as of an embedding model
   * @throws RpcError -32010 when the provider fails or answers anything but one finite score per passage; the signal's own
   *   reason when it aborts
   */
  score(query: string, passages: readonly string[], signal: AbortSignal, party?: TenantId): Promise<readonly number[]>;
  close(): Promise<void>;
}
