import { ErrorCode } from "../protocol/errors.ts";
import { RcpCallError, RcpTransportError } from "./errors.ts";

/** When and how long to wait before the same call again (RCP §12.2). */

export interface RetryPolicy {
  /** Tries after the first one. */
  readonly retries: number;
  /** Upper bound of the first wait; it doubles from try to try. */
  readonly baseMs: number;
  /** No wait of our own is longer. */
  readonly maxMs: number;
  /** A server that asks for a longer pause than this is not waited for. */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { retries: 5, baseMs: 250, maxMs: 10_000, maxRetryAfterMs: 60_000 };

export interface Attempt {
  /** Retries already made of this call. */
  readonly retried: number;
  /** True when doing it twice is the same as doing it once. */
  readonly idempotent: boolean;
}

/**
 * Says how long to wait before the next try.
 *
 * A wait of our own is a random part of an exponentially growing bound. A pause that the server asks for is kept in full, and the
 * random part comes on top of it, so that those who were told to come back together do not.
 *
 * @param random uniform in [0, 1)
 * @returns milliseconds, or undefined when the call must not be repeated
 * @see RCP §12.2
 */
export function retryDelayMs(
  error: unknown,
  attempt: Attempt,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number | undefined {
  if (attempt.retried >= policy.retries || !mayRepeat(error, attempt)) return undefined;
  const asked = error instanceof RcpCallError ? error.retryAfterMs : undefined;
  if (asked !== undefined && asked > policy.maxRetryAfterMs) return undefined;
  const bound = Math.min(policy.maxMs, policy.baseMs * 2 ** attempt.retried);
  return (asked ?? 0) + random() * bound;
}

function mayRepeat(error: unknown, { retried, idempotent }: Attempt): boolean {
  if (error instanceof RcpTransportError) return error.retryable && (idempotent || error.fault === "unreachable");
  if (!(error instanceof RcpCallError)) return false;
  switch (error.code) {
    case ErrorCode.RateLimited:
      return true; // shed before it ran
    case ErrorCode.BackendUnavailable:
    case ErrorCode.Timeout:
      return idempotent && error.data.retryable !== false;
    case ErrorCode.InternalError:
      return idempotent && retried === 0;
    default:
      return false;
  }
}

/** Waits, unless the signal aborts first; then it throws the signal's reason. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = () => reject(signal?.reason);
  signal?.addEventListener("abort", stop);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
