import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Call, Handler } from "../../src/methods/handler.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { PLAN_ONLY_HANDLERS } from "../support/plan-only-handlers.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { servedSocket } from "../support/served-socket.ts";
import { expectValidNotification } from "../support/validate-response.ts";

interface Frame {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

/** The call that runs, and what it is to do next. */
let running = Promise.withResolvers<Call>();
let finish = Promise.withResolvers<object>();
const held: Handler = (_params, call) => {
  running.resolve(call);
  return finish.promise;
};

/** A reader that is to be waited for must not be held up for as long by a busy machine. */
const STALL_MS = 1_000;
/** In two periods a reader of nothing is cut off. */
const LONG_MS = 2_200;

/** A timer may fire a little early. */
const TIMER_SLACK_MS = 5;

let server: RcpServer;
let token: string;
beforeAll(async () => {
  server = await startRcpServer({
    config: {
      server: { maxBufferedBytes: 65_536, stallMs: STALL_MS },
      streaming: { heartbeatMs: 100 },
      rateLimit: { enabled: false },
    },
    handlers: { ...PLAN_ONLY_HANDLERS, retrieve: held },
  });
  token = await server.token();
});
beforeEach(() => {
  running = Promise.withResolvers();
  finish = Promise.withResolvers();
});
afterAll(() => server.close());

interface Opened {
  readonly response: http.IncomingMessage;
  /** Everything until the end. */
  readonly text: Promise<string>;
  readonly request: http.ClientRequest;
}

/** Every request that was sent. */
const readers: http.ClientRequest[] = [];

/** Sends a call and resolves with its head; the body is read unless `pause` is set. */
function open(params: object, headers: Record<string, string> = {}, pause = false): Promise<Opened> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "one", method: "retrieve", params });
  return new Promise((resolve, reject) => {
    const request = http.request(`${server.url}/rcp/retrieve`, {
      method: "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "text/event-stream",
        ...headers,
      },
    });
    readers.push(request);
    request.on("error", reject);
    request.on("response", (response) => {
      const { promise, resolve: done, reject: fail } = Promise.withResolvers<string>();
      promise.catch(() => {});
      let text = "";
      response.setEncoding("utf8");
      if (!pause) response.on("data", (piece: string) => (text += piece));
      response.on("end", () => done(text));
      response.on("error", fail);
      resolve({ response, text: promise, request });
    });
    request.end(body);
  });
}

/** The frames of a stream. Each event must be one data line, or a comment. */
function framesOf(text: string): Frame[] {
  const events = text.split("\n\n");
  expect(events.pop()).toBe("");
  return events.flatMap((event) => {
    expect(event).not.toContain("\n");
    if (event.startsWith(":")) return [];
    expect(event.slice(0, 6)).toBe("data: ");
    return [JSON.parse(event.slice(6)) as Frame];
  });
}

const withToken = (progressToken: unknown, more: object = {}) => ({ query: "x", _meta: { progressToken, ...more } });

describe("RCP §9, progress over §5.2's event stream", () => {
  test("each report is one frame that echoes the token; the answer is the one last frame", async () => {
    const opening = open(withToken("t\ndata: evil"));
    const call = await running.promise;
    call.report?.({ progress: 0.2, stage: "recall" });
    call.report?.({ progress: 0.8, stage: "rerank", message: "30 of 50", partial: { hits: [] } });
    const { response, text } = await opening;
    finish.resolve({ hits: [] });

    const frames = framesOf(await text);
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    expect(frames).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "t\ndata: evil", progress: 0.2, stage: "recall" },
      },
      {
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: {
          progressToken: "t\ndata: evil",
          progress: 0.8,
          stage: "rerank",
          message: "30 of 50",
          partial: { hits: [] },
        },
      },
      { jsonrpc: "2.0", id: "one", result: { hits: [] } },
    ]);
    for (const frame of frames.slice(0, 2)) expectValidNotification(frame);
  });

  test("progress never goes back", async () => {
    const opening = open(withToken(7));
    const call = await running.promise;
    for (const progress of [0.5, 0.3, 7]) call.report?.({ progress, stage: "recall" });
    finish.resolve({ hits: [] });

    const frames = framesOf(await (await opening).text);
    expect(frames.slice(0, -1).map(({ params }) => params?.progress)).toEqual([0.5, 0.5, 1]);
    expect(frames.map(({ params }) => params?.progressToken)).toEqual([7, 7, 7, undefined]);
  });

  test.each([[undefined], [null], [1.5], [true], [{ a: 1 }], [["t"]]])(
    "nothing is reported for the token %j, and nobody is asked to report",
    async (unusable) => {
      const opening = open(withToken(unusable));
      const call = await running.promise;
      finish.resolve({ hits: [] });

      expect(call.report).toBeUndefined();
      expect(framesOf(await (await opening).text)).toEqual([{ jsonrpc: "2.0", id: "one", result: { hits: [] } }]);
    },
  );

  test("an error is the final frame, too, with HTTP 200", async () => {
    const opening = open(withToken(1));
    await running.promise;
    finish.reject(backendUnavailable({ retryable: true, detail: "the model is out of reach" }));

    const { response, text } = await opening;
    expect(response.statusCode).toBe(200);
    expect(framesOf(await text)).toMatchObject([{ id: "one", error: { code: -32010 } }]);
  });

  test("what is reported after the answer goes nowhere", async () => {
    const opening = open(withToken(1, { deadlineMs: 50 }));
    const call = await running.promise;
    const { text } = await opening;
    const frames = framesOf(await text);
    call.report?.({ progress: 1, stage: "pack" });

    expect(frames).toMatchObject([{ id: "one", error: { code: -32014 } }]);
  });

  test.each([["application/json"], ["*/*"], ["text/*"], ["text/event-stream;q=0"], ["text/event-streams"]])(
    "Accept: %s gets one JSON answer and no report",
    async (accept) => {
      const opening = open(withToken(1), { accept });
      const call = await running.promise;
      finish.resolve({ hits: [] });

      const { response, text } = await opening;
      expect(call.report).toBeUndefined();
      expect(response.headers["content-type"]).toBe("application/json");
      expect(JSON.parse(await text)).toEqual({ jsonrpc: "2.0", id: "one", result: { hits: [] } });
    },
  );

  test.each([["application/json, text/event-stream"], ["text/event-stream; q=0.5"], ["TEXT/EVENT-STREAM"]])(
    "Accept: %s gets a stream",
    async (accept) => {
      const opening = open(withToken(1), { accept });
      await running.promise;
      finish.resolve({ hits: [] });

      expect((await opening).response.headers["content-type"]).toBe("text/event-stream");
    },
  );
});

describe("RCP §17.1, log lines", () => {
  test("go to a call that names a level, at that level and above, with its trace", async () => {
    const opening = open({ query: "x", _meta: { logLevel: "info", traceId: "trace-1" } });
    const call = await running.promise;
    finish.resolve({ hits: [] });

    const frames = framesOf(await (await opening).text);
    expect(call.report).toBeUndefined();
    expect(frames).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/log",
        params: {
          level: "info",
          message: "answered",
          logger: "retrieve",
          data: { code: 0, latencyMs: expect.any(Number) },
          _meta: { traceId: "trace-1" },
        },
      },
      { jsonrpc: "2.0", id: "one", result: { hits: [] } },
    ]);
    expectValidNotification(frames[0]);
  });

  test("of level debug has the stages; error has neither them nor a success", async () => {
    const opening = open({ query: "x", _meta: { logLevel: "debug" } });
    (await running.promise).report?.({ progress: 0.2, stage: "recall" });
    finish.resolve({ hits: [] });
    const debug = framesOf(await (await opening).text);
    expect(debug.map(({ params }) => params?.message)).toEqual(["recall", "answered", undefined]);

    running = Promise.withResolvers();
    const quiet = open({ query: "x", _meta: { logLevel: "error" } });
    await running.promise;
    expect(framesOf(await (await quiet).text)).toMatchObject([{ result: { hits: [] } }]);
  });

  test.each([[undefined], ["loud"], ["INFO"], [2]])("are not sent for the level %j", async (logLevel) => {
    const opening = open({ query: "x", _meta: { logLevel } });
    await running.promise;
    finish.resolve({ hits: [] });
    expect(framesOf(await (await opening).text)).toHaveLength(1);
  });
});

describe("a stream", () => {
  test("is kept alive by comments while nothing is reported", async () => {
    const { response, text } = await open({ query: "x" }); // the first comment opens it
    let comments = 0;
    response.on("data", (piece: string) => {
      comments += piece.match(/^: $/gm)?.length ?? 0;
    });
    await expect.poll(() => comments).toBeGreaterThanOrEqual(2);
    finish.resolve({ hits: [] });

    expect(framesOf(await text)).toHaveLength(1);
  });

  test("ends its call when the reader goes away", async () => {
    const opening = open(withToken(1));
    const call = await running.promise;
    call.report?.({ progress: 0, stage: "recall" });
    const { request } = await opening;
    request.destroy();

    await new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }));
    expect(call.signal.reason).toMatchObject({ code: -32006 });
  });

  test("ends with -32012 when its token expires, and not before", async () => {
    const shortLived = await server.token({ expiresIn: 5 });
    const { exp } = JSON.parse(Buffer.from(String(shortLived.split(".")[1]), "base64url").toString());
    const { text } = await open({ query: "x" }, { authorization: `Bearer ${shortLived}` });
    const frames = framesOf(await text);

    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1_000 - TIMER_SLACK_MS);
    expect(frames).toMatchObject([{ id: "one", error: { code: -32012 } }]); // -32014 would be the call's deadline
  });

  test("drops progress that a slow reader has no room for, keeps the answer, and cuts off who does not take it", async () => {
    const opening = open(withToken(1), {}, true);
    const call = await running.promise;
    const filler = "x".repeat(30_000);
    call.report?.({ progress: 0, stage: "recall", message: filler });
    const { response } = await opening;
    const cutOff = once(servedSocket(), "close");
    // Far more than kernel and process hold: none of it may pile up here.
    for (let sent = 0; sent < 2_000; sent += 1) {
      call.report?.({ progress: sent / 2_000, stage: "recall", message: filler });
      if (sent % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    finish.resolve({ hits: [], filler: "y".repeat(20_000_000) });

    // A reader that is paused does not hear that it was cut off before it reads again.
    await cutOff;
    let received = 0;
    response.on("data", (piece: string) => (received += piece.length));
    await new Promise((resolve) => response.once("close", resolve).once("error", () => {}));
    expect(received).toBeLessThan(20_000_000);
    expect(response.complete).toBe(false);
  });

  test("one JSON text is cut off in the same way, and its connection serves on when it is taken in time", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const call = JSON.stringify({ jsonrpc: "2.0", id: "one", method: "retrieve", params: { query: "x" } });
    const ask = () =>
      new Promise<http.IncomingMessage>((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
        const request = http.request(`${server.url}/rcp/retrieve`, { method: "POST", agent, headers }, resolve);
        request.on("error", reject).end(call);
      });
    finish.resolve({ hits: [] });
    const first = await ask();
    const { localPort } = first.socket;
    first.resume();
    await new Promise((resolve) => first.once("end", resolve));

    // An idle connection, then a call that takes its time: neither is a reader that does not read.
    await new Promise((resolve) => setTimeout(resolve, LONG_MS));
    finish = Promise.withResolvers();
    setTimeout(() => finish.resolve({ hits: [], filler: "y".repeat(20_000_000) }), LONG_MS);
    const second = await ask();
    expect(second.socket.localPort).toBe(localPort);
    const cutOff = once(servedSocket(), "close");
    await cutOff;
    let received = 0;
    second.on("data", (piece: Buffer) => (received += piece.length));
    await new Promise((resolve) => second.once("close", resolve).once("error", () => {}));
    agent.destroy();
    expect(received).toBeLessThan(20_000_000);
  });

  test.each([10, 2_000_000])(
    "whose reader has left before an answer of %i bytes leaves no timer behind",
    async (length) => {
      const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
      const before = timers();
      for (const accept of ["text/event-stream", "application/json"]) {
        for (let n = 0; n < 10; n += 1) {
          running = Promise.withResolvers();
          finish = Promise.withResolvers();
          const opening = open(withToken(1), { accept });
          opening.catch(() => {});
          const call = await running.promise;
          call.report?.({ progress: 0, stage: "recall" });
          const gone = new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }));
          readers.at(-1)?.destroy();
          await gone;
          finish.resolve({ hits: [], filler: "y".repeat(length) });
        }
      }
      await expect.poll(timers).toBeLessThan(before + 5);
    },
  );

  test("calls pipelined before and behind one that takes its time are not taken for slow readers", async () => {
    const message = (method: string, last = "") => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: method, method, params: { query: "x" } });
      const head = `POST /rcp/${method} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${last}`;
      return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    };
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(message("info") + message("retrieve") + message("info", "Connection: close\r\n"));
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    await running.promise;
    setTimeout(() => finish.resolve({ hits: [] }), LONG_MS);
    await new Promise((resolve) => socket.once("close", resolve));

    expect([...text.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id)).toEqual(["info", "retrieve", "info"]);
  });

  test.each(["text/event-stream", "application/json"])(
    "waits for a reader that takes its answer as %s slowly but steadily",
    async (accept) => {
      const opening = open(withToken(1), { accept }, true);
      await running.promise;
      finish.resolve({ hits: [], filler: "y".repeat(20_000_000) });
      const { response, text } = await opening;
      let received = 0;
      let pauses = 0;
      response.on("data", (piece: string) => {
        received += piece.length;
        if (received < (pauses + 1) * 2_000_000) return;
        pauses += 1;
        response.pause();
        setTimeout(() => response.resume(), 150);
      });
      await text;

      expect(pauses * 150).toBeGreaterThan(STALL_MS);
      expect(response.complete).toBe(true);
      expect(received).toBeGreaterThan(20_000_000);
    },
  );
});

describe("a batch", () => {
  test("is answered by one JSON array whatever is accepted", async () => {
    const answer = await server.send({
      path: "/rcp",
      headers: [
        ["authorization", `Bearer ${token}`],
        ["content-type", "application/json"],
        ["accept", "text/event-stream"],
      ],
      body: JSON.stringify([
        { jsonrpc: "2.0", id: 1, method: "ping", params: { _meta: { progressToken: 1, logLevel: "debug" } } },
      ]),
    });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.body).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  });
});

test("where streaming is off it is not advertised, and every answer is JSON", async () => {
  const quiet = await startRcpServer({ config: { capabilities: { streaming: false, catalog: false } } });
  try {
    const info = await quiet.call("info");
    expect(info.body?.result?.capabilities).not.toHaveProperty("streaming");
    expect(info.body?.result?.capabilities).not.toHaveProperty("log");
    const answer = await quiet.send({
      path: "/rcp/ping",
      headers: [
        ["authorization", `Bearer ${await quiet.token()}`],
        ["content-type", "application/json"],
        ["accept", "text/event-stream"],
      ],
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    expect(answer).toMatchObject({ headers: { "content-type": "application/json" }, body: { id: 1, result: {} } });
  } finally {
    await quiet.close();
  }
});
