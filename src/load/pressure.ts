import { totalmem } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Observe } from "../observability/observation.ts";

/** What one look at the process found. */
export interface Look {
  /** What half of all timers of the last second were late by at least. */
  readonly eventLoopDelayMs: number;
  /** Of the memory that the process may have, or of its heap's, whichever is nearer to its end. */
  readonly memoryShare: number;
}

const LOOK_MS = 1_000;
/** So many looks in a row have to say that it is too much, or that it has passed: neither comes of one moment. */
const LOOKS_TO_BEGIN = 2;
const LOOKS_TO_END = 5;

/** Whether this process has too much to do, once a second, by its event loop and its memory. */
export class Pressure {
  readonly #max: Look;
  readonly #observe: Observe;
  readonly #look: () => Look;
  readonly #timer: NodeJS.Timeout;
  #isHigh = false;
  #inRow = 0;

  /**
   * @param max from here on it is too much; it has passed below half of the delay and nine tenths of the share
   * @param observe told when it begins and ends
   */
  constructor(max: Look, observe: Observe, look: () => Look = lookAtProcess()) {
    this.#max = max;
    this.#observe = observe;
    this.#look = look;
    this.#timer = setInterval(() => this.#judge(), LOOK_MS).unref();
  }

  get isHigh(): boolean {
    return this.#isHigh;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #judge(): void {
    const found = this.#look();
    const { eventLoopDelayMs, memoryShare } = found;
    const max = this.#max;
    const isOver = eventLoopDelayMs >= max.eventLoopDelayMs || memoryShare >= max.memoryShare;
    const isCalm = eventLoopDelayMs < max.eventLoopDelayMs / 2 && memoryShare < max.memoryShare * 0.9;
    this.#inRow = (this.#isHigh ? isCalm : isOver) ? this.#inRow + 1 : 0;
    if (this.#inRow < (this.#isHigh ? LOOKS_TO_END : LOOKS_TO_BEGIN)) return;
    this.#inRow = 0;
    this.#isHigh = !this.#isHigh;
    this.#observe({ kind: "load-shedding", state: this.#isHigh ? "begun" : "ended", ...found });
  }
}

const RESOLUTION_MS = 10;

/** @returns looks at this process, each at the time since the one before */
export function lookAtProcess(): () => Look {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // 0, or more than there is, where nobody set a limit.
  const memory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
  return () => {
    // The median: one long text holds up the loop once, and is no reason to refuse anybody.
    const eventLoopDelayMs = Math.max(0, delays.percentile(50) / 1e6 - RESOLUTION_MS);
    delays.reset();
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return {
      eventLoopDelayMs,
      memoryShare: Math.max(process.memoryUsage.rss() / memory, used_heap_size / heap_size_limit),
    };
  };
}
