import { PlainError } from "../protocol/failure.ts";

/**
 * Why a request to a model server failed, for the log: it never holds an address, a key, a text or the server's own words.
 * `temporary` failures are worth another try.
 */
export class ProviderFailure extends PlainError {
  override readonly name = "ProviderFailure";
  readonly temporary: boolean;
  /** How long the server asked us to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, kind: { readonly temporary: boolean; readonly retryAfterMs?: number | undefined }) {
    super(message);
    this.temporary = kind.temporary;
    this.retryAfterMs = kind.retryAfterMs;
  }
}
