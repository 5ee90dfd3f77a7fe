import { describe, expect, test } from "vitest";
import { cancelled, ErrorCode, unauthorized } from "../../src/protocol/errors.ts";
import { type Deadline, withDeadline } from "../../src/rpc/deadline.ts";

const NEVER_GONE = new AbortController().signal;
const stuck = () => new Promise<never>(() => {});

describe("withDeadline", () => {
  test("settles with the work when that is first", async () => {
    await expect(withDeadline(1_000, NEVER_GONE, async () => "done")).resolves.toBe("done");
    await expect(withDeadline(1_000, NEVER_GONE, () => Promise.reject(new Error("own")))).rejects.toThrow("own");
  });

  test("rejects with -32014 at the deadline though the work is stuck, and aborts its signal with the same", async () => {
    let deadline: Deadline | undefined;
    const startedAt = performance.now();
    const work = withDeadline(50, NEVER_GONE, (given) => {
      deadline = given;
      return stuck();
    });

    await expect(work).rejects.toMatchObject({ code: ErrorCode.Timeout, data: { retryable: true } });
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(45);
    expect(tookMs).toBeLessThan(10_000);
    expect(deadline?.signal.reason).toMatchObject({ code: ErrorCode.Timeout });
  });

  test("rejects with -32006 on a cancel, and when the caller goes", async () => {
    const told = withDeadline(1_000, NEVER_GONE, async ({ cancel }) => {
      cancel();
      return stuck();
    });
    await expect(told).rejects.toMatchObject({ code: ErrorCode.Cancelled });

    const caller = new AbortController();
    const left = withDeadline(1_000, caller.signal, stuck);
    caller.abort(cancelled());
    await expect(left).rejects.toMatchObject({ code: ErrorCode.Cancelled });
  });

  test("rejects with what the caller's signal says", async () => {
    const caller = new AbortController();
    const left = withDeadline(1_000, caller.signal, stuck);
    caller.abort(unauthorized("the token has expired"));
    await expect(left).rejects.toMatchObject({ code: ErrorCode.Unauthorized });
  });

  test("does not start work for a caller who is gone, or whose time is up", async () => {
    let starts = 0;
    const work = async () => starts++;
    await expect(withDeadline(1_000, AbortSignal.abort(cancelled()), work)).rejects.toMatchObject({
      code: ErrorCode.Cancelled,
    });
    await expect(withDeadline(0, NEVER_GONE, work)).rejects.toMatchObject({ code: ErrorCode.Timeout });
    await expect(withDeadline(-5, NEVER_GONE, work)).rejects.toMatchObject({ code: ErrorCode.Timeout });
    expect(starts).toBe(0);
  });

  test.each([2 ** 31, 1e308, Number.POSITIVE_INFINITY])(
    "does not fire at once when asked to wait %d ms",
    async (ms) => {
      const work = withDeadline(ms, NEVER_GONE, () => new Promise((resolve) => setTimeout(resolve, 30, "done")));
      await expect(work).resolves.toBe("done");
    },
  );

  test("counts remaining milliseconds down to 1, never to 0", async () => {
    let deadline: Deadline | undefined;
    let atFirst = 0;
    const work = withDeadline(200, NEVER_GONE, (given) => {
      deadline = given;
      atFirst = given.remainingMs();
      return stuck();
    });
    await expect(work).rejects.toMatchObject({ code: ErrorCode.Timeout });
    // A timer may fire a little early.
    await new Promise((resolve) => setTimeout(resolve, 5));

    expect(atFirst).toBeGreaterThan(1);
    expect(atFirst).toBeLessThanOrEqual(200);
    expect(deadline?.remainingMs()).toBe(1);
  });
});
