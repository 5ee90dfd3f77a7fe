import { describe, expect, test } from "vitest";
import { WorkQueue } from "../../src/models/work-queue.ts";

/** A worker whose units finish when the test says so. */
function manualWorker(concurrency = 1, maxWaitingCalls = 100) {
  const started: string[] = [];
  const open = new Map<string, { resolve: (answer: string) => void; reject: (error: unknown) => void }>();
  const queue = new WorkQueue<string, string>({
    name: "the test model",
    concurrency,
    maxWaitingCalls,
    run: (unit) => {
      started.push(unit);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      open.set(unit, { resolve, reject });
      return promise;
    },
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    queue,
    started,
    async finish(unit: string) {
      open.get(unit)?.resolve(unit.toUpperCase());
      await turn();
    },
    async fail(unit: string, error: unknown) {
      open.get(unit)?.reject(error);
      await turn();
    },
  };
}

describe("order", () => {
  test("a call's answers come in the order of its units, whichever finished first", async () => {
    const { queue, finish } = manualWorker(2);
    const answers = queue.submit("document", ["a", "b"]);

    await finish("b");
    await finish("a");

    expect(await answers).toEqual(["A", "B"]);
  });

  test("a query starts before the documents that already wait, and does not disturb the one that runs", async () => {
    const { queue, started, finish } = manualWorker();
    const bulk = queue.submit("document", ["d1", "d2", "d3"]);
    const query = queue.submit("query", ["q"]);

    expect(started).toEqual(["d1"]);
    await finish("d1");
    expect(started).toEqual(["d1", "q"]);
    await finish("q");
    expect(await query).toEqual(["Q"]);
    await finish("d2");
    await finish("d3");

    expect(await bulk).toEqual(["D1", "D2", "D3"]);
  });

  test("a count starts before documents and after queries", async () => {
    const { queue, started, finish } = manualWorker();
    void queue.submit("document", ["d1", "d2"]);
    void queue.submit("count", ["c"]);
    void queue.submit("query", ["q"]);

    for (const unit of ["d1", "q", "c", "d2"]) await finish(unit);

    expect(started).toEqual(["d1", "q", "c", "d2"]);
  });

  test("a document waits for seven queries at most, however many come", async () => {
    const { queue, started, finish } = manualWorker();
    void queue.submit("query", ["q0"]);
    void queue.submit("document", ["d"]);
    for (let i = 1; i <= 9; i++) void queue.submit("query", [`q${i}`]);

    for (let i = 0; i <= 7; i++) await finish(`q${i}`);

    expect(started).toEqual(["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "d"]);
  });

  test("calls of one lane take turns, so that one query does not wait for a long list of them", async () => {
    const { queue, started, finish } = manualWorker();
    void queue.submit("query", ["a1", "a2", "a3"]);
    void queue.submit("query", ["b"]);
    void queue.submit("query", ["c1", "c2"]);

    for (const unit of ["a1", "a2", "b", "c1", "a3", "c2"]) await finish(unit);

    expect(started).toEqual(["a1", "a2", "b", "c1", "a3", "c2"]);
  });

  test("no more units run at once than the concurrency allows", () => {
    const { queue, started } = manualWorker(2);
    void queue.submit("document", ["a", "b", "c"]);

    expect(started).toEqual(["a", "b"]);
  });

  test("a call without units is answered without the worker", async () => {
    const { queue, started } = manualWorker();

    expect(await queue.submit("query", [])).toEqual([]);
    expect(started).toEqual([]);
  });
});

describe("parties", () => {
  /** Submits a query of so many units in a party's name. */
  const ask = ({ queue }: ReturnType<typeof manualWorker>, party: string, ...units: string[]) =>
    void queue.submit("query", units, undefined, party).catch(() => {});

  test("one that comes after many calls of another waits for one more of its units", async () => {
    const worker = manualWorker();
    for (let i = 0; i < 50; i++) ask(worker, "flood", `f${i}`);
    ask(worker, "neighbour", "n1");
    ask(worker, "neighbour", "n2");

    for (const unit of ["f0", "f1", "n1", "f2"]) await worker.finish(unit);

    expect(worker.started).toEqual(["f0", "f1", "n1", "f2", "n2"]);
  });

  test("of those that wait the one of which fewest units run goes first, whichever lane they are in", async () => {
    const worker = manualWorker(3);
    void worker.queue.submit("document", ["d1", "d2"], undefined, "flood");
    ask(worker, "flood", "f1", "f2");
    ask(worker, "neighbour", "n1", "n2");

    await worker.finish("d1");
    await worker.finish("d2");

    // The last one is a tie: the flood's turn was longer ago.
    expect(worker.started).toEqual(["d1", "d2", "f1", "n1", "f2"]);
  });

  test("one that was served goes behind the others with all its calls", async () => {
    const worker = manualWorker();
    ask(worker, "a", "a1");
    ask(worker, "b", "b1");
    ask(worker, "c", "c1");
    ask(worker, "a", "a2");
    ask(worker, "b", "b2");

    for (const unit of ["a1", "b1", "c1", "a2"]) await worker.finish(unit);

    expect(worker.started).toEqual(["a1", "b1", "c1", "a2", "b2"]);
  });

  test("one has half of a lane at most, so that the others find room to wait", async () => {
    const { queue } = manualWorker(1, 4);
    const submit = (party: string) => queue.submit("document", [party], AbortSignal.timeout(1), party);
    void queue.submit("document", ["running"]);
    const waiting = [submit("flood"), submit("flood")];

    await expect(submit("flood")).rejects.toMatchObject({ code: -32010, data: { retryable: true } });
    waiting.push(submit("neighbour"));
    for (const call of waiting) await expect(call).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe("abort", () => {
  test("an aborted call is rejected at once with the signal's reason, and its waiting units never start", async () => {
    const { queue, started, finish } = manualWorker();
    const caller = new AbortController();
    const aborted = queue.submit("document", ["a", "b"], caller.signal);
    const other = queue.submit("document", ["c"]);
    const reason = new Error("the caller went away");

    caller.abort(reason);

    await expect(aborted).rejects.toBe(reason);
    await finish("a");
    await finish("c");
    expect(await other).toEqual(["C"]);
    expect(started).toEqual(["a", "c"]);
  });

  test("a call whose last unit already runs is rejected at once too", async () => {
    const { queue } = manualWorker();
    const caller = new AbortController();
    const aborted = queue.submit("query", ["a"], caller.signal);

    caller.abort("gone");

    await expect(aborted).rejects.toBe("gone");
  });

  test("a signal that has already aborted starts nothing", async () => {
    const { queue, started } = manualWorker();

    await expect(queue.submit("query", ["a"], AbortSignal.abort("gone"))).rejects.toBe("gone");
    expect(started).toEqual([]);
  });
});

describe("failure", () => {
  test("a unit's failure is its call's, and the next call is served", async () => {
    const { queue, started, finish, fail } = manualWorker();
    const bad = queue.submit("document", ["a", "b"]);
    const good = queue.submit("document", ["c"]);
    const failed = expect(bad).rejects.toThrow("broken");

    await fail("a", new Error("broken"));
    await failed;
    await finish("c");

    expect(await good).toEqual(["C"]);
    expect(started).toEqual(["a", "c"]);
  });

  test("a lane that is full refuses one more call with -32010, retryable, and other lanes still take theirs", async () => {
    const { queue } = manualWorker(1, 2);
    void queue.submit("document", ["running"]);
    void queue.submit("document", ["waiting 1"]);
    void queue.submit("document", ["waiting 2"]);

    await expect(queue.submit("document", ["one more"])).rejects.toMatchObject({
      code: -32010,
      data: { retryable: true, retryAfterMs: 1_000, detail: "the test model has too many calls waiting" },
    });
    void queue.submit("query", ["taken"]);
    await expect(queue.submit("query", ["taken"], AbortSignal.timeout(1))).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });

  test("a closed queue refuses what waits and what comes", async () => {
    const { queue } = manualWorker();
    void queue.submit("document", ["running"]);
    const waiting = queue.submit("document", ["waiting"]);
    const closed = new Error("closed");

    queue.close(closed);

    await expect(waiting).rejects.toBe(closed);
    await expect(queue.submit("query", ["late"])).rejects.toBe(closed);
  });
});
