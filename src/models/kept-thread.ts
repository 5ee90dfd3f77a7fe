import type { Observe } from "../observability/observation.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import type { InferenceThread } from "./inference-thread.ts";

/** The pause before the first start anew; each crash that follows soon doubles it. */
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** A thread that lived for so long does not count as one of a row of crashes. */
const LONG_LIFE_MS = 60_000;

/** An inference thread that is there again after a crash. */
export interface KeptThread extends Pick<InferenceThread, "ask" | "close"> {
  /** False from a crash until the thread's model answers again. */
  isUp(): boolean;
}

/**
 * Starts a thread, and once more after each crash, after a pause that grows with every crash in a row.
 *
 * @param start gives a thread whose model answers; its failure after a crash counts as a crash
 * @throws what the first start fails with
 */
export async function keepThread(start: () => Promise<InferenceThread>, observe: Observe): Promise<KeptThread> {
  let thread: InferenceThread | undefined;
  let crash: unknown;
  let delayMs = FIRST_DELAY_MS;
  let retry: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function run(): Promise<void> {
    const started = await start();
    if (isClosed) return await started.close();
    const upAt = performance.now();
    thread = started;
    void started.ended.then((error) => {
      thread = undefined;
      if (performance.now() - upAt >= LONG_LIFE_MS) delayMs = FIRST_DELAY_MS;
      startAgainAfter(error);
    });
  }

  function startAgainAfter(error: unknown): void {
    if (isClosed) return;
    crash = error;
    observe({ kind: "internal-error", where: "embedding thread", error });
    retry = setTimeout(() => run().catch(startAgainAfter), delayMs).unref();
    delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
  }

  await run();
  return {
    isUp: () => thread !== undefined,
    async ask(request) {
      if (thread !== undefined) return await thread.ask(request);
      const detail = "the built-in embedding model is starting again";
      throw backendUnavailable({ retryable: true, retryAfterMs: FIRST_DELAY_MS, detail }, { cause: crash });
    },
    async close() {
      isClosed = true;
      clearTimeout(retry);
      await thread?.close();
    },
  };
}
