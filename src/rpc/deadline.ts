import { cancelled, timeout } from "../protocol/errors.ts";

/** The longest delay that `setTimeout` keeps; a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Deadline {
  /** Aborts with an RpcError as its reason: -32014 at the deadline, -32006 on a cancel, the reason of `gone` with it. */
  readonly signal: AbortSignal;
  /** At least 1, because 0 switches Postgres' `statement_timeout` off. */
  remainingMs(): number;
  cancel(): void;
}

/**
 * Runs `work` and settles with it, or earlier: at the deadline, on a cancel, or when the caller is gone. Work that ignores
 * its signal is left to finish and its late result is dropped.
 *
 * @param limitMs milliseconds from now
 * @param gone aborts when nobody waits for the answer any more, with an RpcError
 * @throws what `work` throws; RpcError -32014 or -32006; the reason of `gone`
 */
export async function withDeadline<Result>(
  limitMs: number,
  gone: AbortSignal,
  work: (deadline: Deadline) => Promise<Result>,
): Promise<Result> {
  gone.throwIfAborted();
  if (limitMs <= 0) throw timeout();
  const controller = new AbortController();
  const endsAt = performance.now() + limitMs;
  const cancel = () => controller.abort(cancelled());
  const timer = setTimeout(() => controller.abort(timeout()), Math.min(limitMs, MAX_TIMER_MS));
  const leave = () => controller.abort(gone.reason);
  gone.addEventListener("abort", leave, { once: true });

  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const { signal } = controller;
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  try {
    const remainingMs = () => Math.max(1, Math.ceil(endsAt - performance.now()));
    return await Promise.race([aborted, work({ signal, remainingMs, cancel })]);
  } finally {
    clearTimeout(timer);
    gone.removeEventListener("abort", leave);
  }
}
