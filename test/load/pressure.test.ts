import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Look, lookAtProcess, Pressure } from "../../src/load/pressure.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { quickest } from "../support/quickest.ts";

describe("pressure", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const calm: Look = { eventLoopDelayMs: 5, memoryShare: 0.3 };
  const slow: Look = { eventLoopDelayMs: 100, memoryShare: 0.3 };
  const full: Look = { eventLoopDelayMs: 5, memoryShare: 0.9 };

  /** What it says after each second, of looks that find this; h is high, - is not. */
  function told(...looks: readonly Look[]): { readonly states: string; readonly observations: readonly Observation[] } {
    const observations: Observation[] = [];
    const found = looks.values();
    const pressure = new Pressure(
      { eventLoopDelayMs: 100, memoryShare: 0.9 },
      (one) => observations.push(one),
      () => found.next().value ?? calm,
    );
    let states = "";
    for (const _ of looks) {
      vi.advanceTimersByTime(1_000);
      states += pressure.isHigh ? "h" : "-";
    }
    pressure.close();
    return { states, observations };
  }

  test("is high after two looks in a row that find too much, of the event loop or of memory", () => {
    expect(told(slow, calm, slow, slow).states).toBe("---h");
    expect(told(full, full).states).toBe("-h");
    expect(told(slow, full).states).toBe("-h");
  });

  test("is over after five looks in a row that find less than half of the delay and nine tenths of the memory", () => {
    const nearly = { ...calm, eventLoopDelayMs: 50 };
    const almost = { ...calm, memoryShare: 0.81 };
    expect(told(slow, slow, calm, calm, calm, calm, calm).states).toBe("-hhhhh-");
    expect(told(slow, slow, calm, calm, calm, calm, nearly, calm).states).toBe("-hhhhhhh");
    expect(told(slow, slow, calm, calm, calm, calm, almost, calm).states).toBe("-hhhhhhh");
  });

  test("does not flap around a limit, and each change is told once", () => {
    const below = { ...calm, eventLoopDelayMs: 99 };
    const { states, observations } = told(slow, slow, below, slow, below, below, below, below, below, below);
    expect(states).toBe("-hhhhhhhhh");
    expect(observations).toEqual([{ kind: "load-shedding", state: "begun", ...slow }]);
  });
});

describe("a look at this process", () => {
  const block = (ms: number) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  };

  test("finds a loop late whose every turn is long, and not one that was held up once", async () => {
    const look = lookAtProcess();
    await sleep(50);
    look();
    for (let turn = 0; turn < 10; turn += 1) {
      block(60);
      await sleep(0);
    }
    expect(look().eventLoopDelayMs).toBeGreaterThan(30);

    const heldUpOnce = async () => {
      block(500);
      await sleep(400);
      return look().eventLoopDelayMs;
    };
    expect(await quickest(30, heldUpOnce)).toBeLessThan(30);
  });

  test("finds a share of memory that this very process has", () => {
    const { memoryShare } = lookAtProcess()();
    expect(memoryShare).toBeGreaterThan(0);
    expect(memoryShare).toBeLessThan(1);
  });
});
