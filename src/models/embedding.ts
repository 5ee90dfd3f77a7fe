import type { EmbeddingSpace, TenantId } from "../catalog/corpus.ts";

/** Turns text into vectors of one space. Vectors are finite, of the space's dimension and of unit length. */
export interface EmbeddingModel {
  readonly space: EmbeddingSpace;
  /** Longest input in the model's own tokens, special tokens included; what is longer is cut by the model. */
  readonly maxTokens: number;
  /** Whether a text has the same vector each time, to the last bit. */
  readonly isRepeatable: boolean;
  /** Number of the model's tokens in each text, special tokens included. Cheap: no inference. */
  countTokens(texts: readonly string[], party?: TenantId): Promise<readonly number[]>;
  /**
   * One vector per text, in order. Asymmetric models prefix queries and documents differently, hence `kind`.
   *
   * @param party whom it is for: tenants that wait take turns; absent = the server itself
   * @throws RpcError -32010 when the provider fails, answers a vector of the wrong length, a zero or a non-finite one;
   *   the signal's own reason when it aborts
   */
  embed(
    texts: readonly string[],
    kind: "query" | "document",
    signal: AbortSignal,
    party?: TenantId,
  ): Promise<readonly Float32Array[]>;
  /** False while every call would fail, as far as that is known without a call. */
  isReady(): boolean;
  close(): Promise<void>;
}
