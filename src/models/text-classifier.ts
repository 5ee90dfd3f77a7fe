import type { TenantId } from "../catalog/corpus.ts";

/** Judges texts by themselves, beside the screen's own rules. */
export interface TextClassifier {
  /** What an unjudged text means: the write fails, or the text counts as suspected. */
  readonly onFailure: "fail" | "suspect";
  /**
   * Whether each text looks written for a model rather than for a reader, in the texts' order.
   *
   * @param party as of an embedding model
   * @throws RpcError -32010 when the provider fails or answers anything but a judgement of each text; the signal's own reason
   *   when it aborts
   */
  suspects(texts: readonly string[], signal: AbortSignal, party?: TenantId): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
