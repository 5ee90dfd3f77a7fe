import { setImmediate as nextTurn } from "node:timers/promises";

/** Work longer than this lets other requests have the event loop before it goes on. */
const SLICE_MS = 4;

/**
 * A function to await between pieces of work: it waits for a turn of the event loop when the last one was long ago.
 *
 * @param pieces after how many of them it looks at the clock, which takes as long as a small one
 * @throws the signal's reason when it aborts
 */
export function pauseEvery(signal: AbortSignal, pieces = 1): () => Promise<void> | undefined {
  signal.throwIfAborted();
  let since = performance.now();
  let count = 0;
  return () => {
    if (++count % pieces !== 0) return undefined;
    if (performance.now() - since < SLICE_MS) return undefined;
    return nextTurn().then(() => {
      signal.throwIfAborted();
      since = performance.now();
    });
  };
}
