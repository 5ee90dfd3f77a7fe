import { setTimeout as sleep } from "node:timers/promises";
import { ProviderFailure } from "./provider-failure.ts";

/** The first pause; each further one doubles. */
const BASE_DELAY_MS = 200;
/** A server that asks for more patience than this is given up on: the caller can come back better than we can wait. */
const MAX_DELAY_MS = 20_000;

export interface RetryOptions {
  /** Tries after the first one. */
  readonly retries: number;
  readonly signal: AbortSignal;
}

/**
 * What `attempt` gives, tried again after temporary failures. Pauses double, are shortened at random by up to half so that
 * callers do not return in step, and are never shorter than the server asked for.
 *
 * @throws ProviderFailure the last one; the signal's reason, at once, when it aborts
 */
export async function withRetries<T>(attempt: () => Promise<T>, { retries, signal }: RetryOptions): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ProviderFailure && error.temporary) || tries >= retries) throw error;
      const askedMs = error.retryAfterMs ?? 0;
      if (askedMs > MAX_DELAY_MS) throw error;
      const backoffMs = Math.min(BASE_DELAY_MS * 2 ** tries, MAX_DELAY_MS) * (1 - Math.random() / 2);
      await pause(Math.max(backoffMs, askedMs), signal);
    }
  }
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
