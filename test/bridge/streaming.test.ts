import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { event, sendResult, startStream, withSessions } from "./fake-server.ts";
import { openBridge } from "./open-bridge.ts";

const progress = (progressToken: unknown, value: number) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken, progress: value, stage: "recall" },
});
const log = (message: string) => ({ jsonrpc: "2.0", method: "notifications/log", params: { level: "info", message } });
const final = (id: unknown) => ({ jsonrpc: "2.0", id, result: { hits: [] } });

/** Collects the frames of a call before its answer. */
function collector() {
  const frames: (string | undefined)[] = [];
  return {
    frames,
    caller: {
      onFrame: async (frame: string | undefined) =>
        void frames.push(frame === undefined ? undefined : JSON.parse(frame)),
    },
  };
}

test("§9 progress comes before the answer, and a sign of life is passed on", async () => {
  const { ask, initialize, server } = await openBridge(
    withSessions(async (call, response) => {
      const write = startStream(response);
      write(event(progress("t", 0.2)));
      await pause(30);
      write(":\n\n");
      write(event(progress("t", 0.9)) + event(final(call.body.id)));
      response.end();
    }),
  );
  await initialize();
  const { frames, caller } = collector();
  const answer = await ask("retrieve", { _meta: { progressToken: "t" } }, "mine", caller);

  expect(frames).toEqual([progress("t", 0.2), undefined, progress("t", 0.9)]);
  expect(answer).toEqual(final("mine"));
  expect(server.calls[1]?.headers.accept).toBe("application/json, text/event-stream");
});

test("§9 an event stream is asked for only with a token, for logs, and by a client that takes frames", async () => {
  const { ask, initialize, server } = await openBridge(
    withSessions((call, response) => sendResult(call, response, {})),
  );
  await initialize();
  const { caller } = collector();
  await ask("retrieve", {}, 1, caller);
  await ask("retrieve", { _meta: { progressToken: 0 } }, 1, caller);
  await ask("retrieve", { _meta: { progressToken: 0 } }, 1);
  await ask("retrieve", { _meta: { logLevel: "debug" } }, 1, caller);
  const asked = server.calls.slice(1).map(({ headers }) => headers.accept?.includes("event-stream"));
  expect(asked).toEqual([false, true, false, true]);
});

test("§7.1 nothing is passed on that the client did not ask for", async () => {
  const { ask, initialize } = await openBridge(
    withSessions((call, response) => {
      const write = startStream(response);
      for (const frame of [
        progress("other", 0.1),
        progress(1, 0.2),
        log("chatter"),
        { jsonrpc: "2.0", method: "x/y", params: {} },
      ])
        write(event(frame));
      write(event(progress("1", 0.3)) + event(final(call.body.id)));
      response.end();
    }),
  );
  await initialize();
  const { frames, caller } = collector();
  await ask("retrieve", { _meta: { progressToken: "1" } }, 1, caller);
  expect(frames).toEqual([progress("1", 0.3)]);
});

test("§17.1 a client that advertised log gets the logs, without a progress token", async () => {
  const { ask, initialize, server } = await openBridge(
    withSessions((call, response) => {
      startStream(response)(event(log("one")) + event(progress(undefined, 0.5)) + event(final(call.body.id)));
      response.end();
    }),
  );
  await initialize({ capabilities: { log: {} } });
  const { frames, caller } = collector();
  await ask("retrieve", {}, 1, caller);
  expect(frames).toEqual([log("one")]);
  expect(server.calls[1]?.headers.accept).toContain("text/event-stream");
});

test("a stream that ends without an answer, or is cut off, is -32010", async () => {
  for (const finish of ["end", "destroy"] as const) {
    const { ask, initialize } = await openBridge(
      withSessions(async (_call, response) => {
        startStream(response)(event(progress("t", 0.5)));
        await pause(30);
        response[finish]();
      }),
    );
    await initialize();
    const { frames, caller } = collector();
    const answer = await ask("retrieve", { _meta: { progressToken: "t" } }, "mine", caller);
    expect(answer).toMatchObject({ id: "mine", error: { code: -32010, data: { retryable: true } } });
    expect(frames).toHaveLength(1);
  }
});

test("an answer in a stream with another id, or that is no JSON, is -32010", async () => {
  for (const text of [event(final(99)), "data: not json\n\n"]) {
    const { ask, initialize } = await openBridge(
      withSessions((_call, response) => {
        startStream(response)(text);
        response.end();
      }),
    );
    await initialize();
    expect((await ask("retrieve", { _meta: { progressToken: "t" } }, 1, collector().caller)).error?.code).toBe(-32010);
  }
});

test("the first answer of a stream ends it, even if the server keeps it open", async () => {
  let isGone = false;
  const { ask, initialize } = await openBridge(
    withSessions((call, response) => {
      response.once("close", () => {
        isGone = true;
      });
      startStream(response)(event(final(call.body.id)) + event({ ...final(call.body.id), result: { second: true } }));
    }),
  );
  await initialize();
  const { caller } = collector();
  const answer = await ask("retrieve", { _meta: { progressToken: "t" } }, 1, caller);
  expect(answer.result).toEqual({ hits: [] });
  await expect.poll(() => isGone).toBe(true);
});

test("a finished stream leaves its connection to the next call", async () => {
  const ports = new Set<number | undefined>();
  const { ask, initialize } = await openBridge(
    withSessions((call, response, request) => {
      ports.add(request.socket.remotePort);
      startStream(response)(event(final(call.body.id)));
      response.end();
    }),
  );
  await initialize();
  // The bridge has the answer a little before the stream's end, which the next call may not wait for.
  let calls = 0;
  for (; calls === ports.size && calls < 20; calls += 1) {
    await ask("retrieve", { _meta: { progressToken: "t" } }, calls, collector().caller);
    await pause(20);
  }
  expect(ports.size).toBeLessThan(calls);
});

test("cancelling a stream answers -32006 and passes nothing more on", async () => {
  const { ask, send, initialize } = await openBridge(
    withSessions(async (call, response) => {
      if (call.body.method === "notifications/cancel") return void response.writeHead(204).end();
      const write = startStream(response);
      for (let n = 0; !response.destroyed; n += 1) {
        write(event(progress("t", n / (n + 1))));
        await pause(10);
      }
    }),
  );
  await initialize();
  const { frames, caller } = collector();
  const running = ask("retrieve", { _meta: { progressToken: "t" } }, 7, caller);
  await expect.poll(() => frames.length).toBeGreaterThan(2);
  await send('{"jsonrpc":"2.0","method":"notifications/cancel","params":{"id":7}}');
  expect((await running).error?.code).toBe(-32006);
  const seen = frames.length;
  await pause(60);
  expect(frames).toHaveLength(seen);
});

test("a client that reads slowly holds back the server", async () => {
  let written = 0;
  const { ask, initialize } = await openBridge(
    withSessions(async (call, response) => {
      startStream(response);
      const big = "x".repeat(100_000);
      for (let n = 0; n < 200; n += 1) {
        const isRoom = response.write(event({ ...progress("t", n / 200), big }));
        written += 1;
        if (!isRoom) await new Promise((resolve) => response.once("drain", resolve));
      }
      response.end(event(final(call.body.id)));
    }),
  );
  await initialize();
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const running = ask("retrieve", { _meta: { progressToken: "t" } }, 1, { onFrame: () => opened });
  await pause(300);
  expect(written).toBeLessThan(150);
  open();
  expect((await running).result).toEqual({ hits: [] });
});
