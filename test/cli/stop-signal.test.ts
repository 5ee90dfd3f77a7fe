import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type StopRequest, stopOnSignal } from "../../src/cli/stop-signal.ts";

let stop: StopRequest;
let exit: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  vi.useFakeTimers();
  exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  stop = stopOnSignal();
});
afterEach(() => {
  stop.release();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test.each(["SIGINT", "SIGTERM"] as const)("%s asks to stop, and says who asked", async (name) => {
  process.emit(name, name);

  expect(stop.signal.reason).toMatchObject({ name: "Stopped", by: name });
  expect(await stop.requested).toBe(stop.signal.reason);
  expect(exit).not.toHaveBeenCalled();
});

test("one press that arrives twice is one press: npm passes on what the terminal has sent", () => {
  process.emit("SIGINT", "SIGINT");
  vi.advanceTimersByTime(50);
  process.emit("SIGINT", "SIGINT");

  expect(exit).not.toHaveBeenCalled();
});

test("a second press ends the process at once, as interrupted", () => {
  process.emit("SIGINT", "SIGINT");
  vi.advanceTimersByTime(1_500);
  process.emit("SIGINT", "SIGINT");

  expect(exit).toHaveBeenCalledExactlyOnceWith(130);
});

test("after its release nothing is listened to", () => {
  stop.release();
  const before = process.listenerCount("SIGINT");
  const again = stopOnSignal();
  expect(process.listenerCount("SIGINT")).toBe(before + 1);
  again.release();
  expect(process.listenerCount("SIGINT")).toBe(before);
});
