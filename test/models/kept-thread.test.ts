import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { InferenceThread } from "../../src/models/inference-thread.ts";
import { keepThread } from "../../src/models/kept-thread.ts";
import type { Observation } from "../../src/observability/observation.ts";

const request = { task: "count", texts: ["a"] } as const;

/** Threads that live until they are told to crash, and starts that fail while they are told to. */
function machine() {
  const observations: Observation[] = [];
  const state = { starts: 0, closed: 0, isBroken: false, crash: (_error: Error) => {} };
  const start = async (): Promise<InferenceThread> => {
    state.starts += 1;
    const number = state.starts;
    if (state.isBroken) throw new Error("cannot start");
    const { promise: ended, resolve } = Promise.withResolvers<Error>();
    state.crash = resolve;
    return {
      ended,
      ask: async () => ({ kind: "answer", tokens: [number] }),
      close: async () => {
        state.closed += 1;
        resolve(new Error("closed"));
      },
    };
  };
  const keep = () => keepThread(start, (observation) => void observations.push(observation));
  /** Lets the thread crash and what listens to it run. */
  const crash = async (message = "crash") => {
    state.crash(new Error(message));
    await vi.advanceTimersByTimeAsync(0);
  };
  return { state, observations, keep, crash };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a thread that crashes", () => {
  test("is started again once, and until then calls are refused with -32010 and it is not up", async () => {
    const { state, observations, keep, crash } = machine();
    const thread = await keep();
    expect([thread.isUp(), await thread.ask(request)]).toEqual([true, { kind: "answer", tokens: [1] }]);

    await crash();

    expect(thread.isUp()).toBe(false);
    await expect(thread.ask(request)).rejects.toMatchObject({ code: -32010, data: { retryable: true } });
    await vi.advanceTimersByTimeAsync(600_000);
    expect([thread.isUp(), await thread.ask(request)]).toEqual([true, { kind: "answer", tokens: [2] }]);
    expect(state.starts).toBe(2);
    expect(observations).toMatchObject([
      { kind: "internal-error", where: "embedding thread", error: { message: "crash" } },
    ]);
  });

  test("again and again is started after 0.5, 1, 2, 4 s and so on, at most 30 s", async () => {
    const { state, keep, crash } = machine();
    await keep();
    state.isBroken = true;
    await crash();

    // 0.5, 1.5, 3.5, 7.5, 15.5, 31.5 s; from then on every 30 s.
    await vi.advanceTimersByTimeAsync(31_499);
    expect(state.starts).toBe(1 + 5);
    await vi.advanceTimersByTimeAsync(1 + 300_000);
    expect(state.starts).toBe(1 + 6 + 10);
  });

  test("after a long life is started as quickly as at first", async () => {
    const { state, keep, crash } = machine();
    await keep();
    for (let round = 0; round < 4; round++) {
      await crash();
      await vi.advanceTimersByTimeAsync(500);
      expect(state.starts).toBe(round + 2);
      await vi.advanceTimersByTimeAsync(60_000);
    }
  });
});

test("a first start that fails is the caller's", async () => {
  const { state, keep } = machine();
  state.isBroken = true;

  await expect(keep()).rejects.toThrow("cannot start");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.starts).toBe(1);
});

test("a thread that was closed stays so, whether it ran or was about to start", async () => {
  const first = machine();
  await (await first.keep()).close();
  const second = machine();
  const waiting = await second.keep();
  await second.crash();
  await waiting.close();
  await vi.advanceTimersByTimeAsync(60_000);

  expect([first.state.starts, first.state.closed, first.observations]).toEqual([1, 1, []]);
  expect([second.state.starts, second.state.closed]).toEqual([1, 0]);
});
