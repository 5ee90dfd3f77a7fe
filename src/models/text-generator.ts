import type { TenantId } from "../catalog/corpus.ts";

/** What a text generator is asked. Both texts are data: nothing in them is an instruction to this server. */
export interface Prompt {
  readonly system: string;
  readonly user: string;
  /** Longest answer, in the model's own tokens. */
  readonly maxTokens: number;
  /** Who waits for it: a search, which goes first, or a write. */
  readonly kind: "query" | "document";
}

/** Writes text to a prompt: for `query/transform`, and for the context of chunks. */
export interface TextGenerator {
  /** What the provider calls its model. */
  readonly identity: string;
  /**
   * The answer's text, not blank, well-formed and without U+0000. Asked for as deterministically as the provider can
   * (temperature 0).
   *
   * @param party as of an embedding model
   * @throws RpcError -32010 when the provider fails or answers no text; the signal's own reason when it aborts
   */
  generate(prompt: Prompt, signal: AbortSignal, party?: TenantId): Promise<string>;
  close(): Promise<void>;
}
