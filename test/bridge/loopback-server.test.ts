import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { listenOnLoopback } from "../../src/bridge/loopback-server.ts";
import { sendBytes, sendRequest } from "../support/raw-http.ts";
import { type Answer, event, sendResult, startStream, withSessions } from "./fake-server.ts";
import { openBridge } from "./open-bridge.ts";

const JSON_TYPE = ["content-type", "application/json"] as const;
const echo: Answer = (call, response) => sendResult(call, response, { method: call.body.method });

async function listen(answer: Answer) {
  const open = await openBridge(withSessions(answer));
  const loopback = await listenOnLoopback(open.bridge, { host: "127.0.0.1", port: 0 });
  onTestFinished(() => loopback.close());
  const port = Number(new URL(loopback.url).port);
  const post = (path: string, message: unknown, headers: (readonly [string, string])[] = []) =>
    sendRequest(port, {
      path,
      headers: [JSON_TYPE, ...headers],
      body: typeof message === "string" ? message : JSON.stringify(message),
    });
  const initialize = () =>
    post("/rcp/initialize", { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 1 } });
  return { ...open, port, post, initialize };
}

const call = (method: string, params: object = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });

describe("§5.2 a request", () => {
  test("is answered with HTTP 200, as JSON, errors too", async () => {
    const { post, initialize } = await listen(echo);
    const refused = await post("/rcp/retrieve", call("retrieve"));
    expect(refused.status).toBe(200);
    expect(JSON.parse(refused.text)).toMatchObject({ id: 1, error: { code: -32001 } });
    await initialize();
    const answer = await post("/rcp/retrieve", call("retrieve", {}, "a"));
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.text).toBe('{"jsonrpc":"2.0","id":"a","result":{"method":"retrieve"}}');
  });

  test("whose path is not the body's method, byte for byte, is -32600 and goes no further", async () => {
    const { post, initialize, server } = await listen(echo);
    await initialize();
    for (const path of ["/rcp/ping", "/rcp", "/rcp/", "/rcp/Retrieve", "/rcp/%72etrieve", "/rcp//retrieve"])
      expect(JSON.parse((await post(path, call("retrieve"))).text)).toMatchObject({ id: 1, error: { code: -32600 } });
    expect(server.methods()).toEqual(["initialize"]);
  });

  test("without an id is 204 without a body", async () => {
    const { post } = await listen(echo);
    const answer = await post("/rcp/notifications/cancel", { jsonrpc: "2.0", method: "notifications/cancel" });
    expect(answer).toMatchObject({ status: 204, text: "" });
  });

  test("in a batch goes to the base path, and only there", async () => {
    const { post } = await listen(echo);
    const batch = [call("ping", {}, 1), call("info", {}, 2)];
    expect(JSON.parse((await post("/rcp", batch)).text)).toMatchObject([{ id: 1 }, { id: 2 }]);
    expect(JSON.parse((await post("/rcp/ping", batch)).text)).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test("over the limit is 413 with -32013, announced or not", async () => {
    const { port } = await listen(echo);
    const body = "x".repeat(17 * 1024 * 1024);
    const answer = await sendRequest(port, { path: "/rcp/ping", headers: [JSON_TYPE], body });
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toMatchObject({ id: null, error: { code: -32013 } });
  });
});

describe("only this machine's own programs are let in", () => {
  test.each([
    ["evil.example", 403],
    ["evil.example:80", 403],
    ["127.0.0.1.evil.example", 403],
    ["localhost.evil.example", 403],
    ["10.0.0.1", 403],
    ["localhost", 200],
    ["LOCALHOST:1234", 200],
    ["127.0.0.1:80", 200],
    ["[::1]:80", 200],
  ])("Host: %s is %i", async (host, status) => {
    const { port, server } = await listen(echo);
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const body = JSON.stringify(call("ping"));
      const headers = { host, "content-type": "application/json", "content-length": body.length };
      const request = http.request({
        port,
        host: "127.0.0.1",
        path: "/rcp/ping",
        method: "POST",
        headers,
        agent: false,
      });
      request.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
      request.end(body);
    });
    expect(answer).toBe(status);
    expect(server.calls).toHaveLength(status === 200 ? 1 : 0);
  });

  test("no Host at all is 403", async () => {
    const { port } = await listen(echo);
    const { statuses } = await sendBytes(port, "POST /rcp/ping HTTP/1.0\r\ncontent-type: application/json\r\n\r\n");
    expect(statuses).toEqual([403]);
  });

  test("a browser's page gets no leave: no CORS header, no preflight, no simple request", async () => {
    const { port, server } = await listen(echo);
    const origin = ["origin", "https://evil.example"] as const;
    const preflight = await sendRequest(port, {
      method: "OPTIONS",
      path: "/rcp/ping",
      headers: [origin, ["access-control-request-method", "POST"]],
    });
    expect(preflight.status).toBe(405);
    const simple = await sendRequest(port, {
      path: "/rcp/ping",
      headers: [origin, ["content-type", "text/plain"]],
      body: JSON.stringify(call("ping")),
    });
    expect(simple.status).toBe(415);
    for (const { headers } of [preflight, simple])
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(server.calls).toEqual([]);
  });

  test("other paths are 404, other verbs 405", async () => {
    const { port, post } = await listen(echo);
    for (const path of ["/", "/rcpx", "/corpora/a/rcp/ping", "/healthz"])
      expect((await post(path, call("ping"))).status).toBe(404);
    const get = await sendRequest(port, { method: "GET", path: "/rcp/ping" });
    expect(get).toMatchObject({ status: 405, headers: { allow: "POST" } });
  });

  test("its own token and session are what the server sees, not the client's", async () => {
    const { post, initialize, server } = await listen(echo);
    await initialize();
    await post("/rcp/ping", call("ping"), [
      ["authorization", "Bearer mine"],
      ["rcp-session", "mine"],
    ]);
    expect(server.calls[1]?.headers).toMatchObject({ authorization: "Bearer secret-token", "rcp-session": "s1" });
  });
});

describe("§5.2 an event stream", () => {
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "t", progress: 0.5 } };
  const streaming: Answer = (one, response) => {
    if (one.headers.accept?.includes("text/event-stream") !== true) return sendResult(one, response, { hits: [] });
    startStream(response)(`:\n\n${event(progress)}${event({ jsonrpc: "2.0", id: one.body.id, result: { hits: [] } })}`);
    response.end();
  };
  const params = { _meta: { progressToken: "t" } };

  test("is passed on to a client that asks for one, with its own id in the one final frame", async () => {
    const { post, initialize } = await listen(streaming);
    await initialize();
    const answer = await post("/rcp/retrieve", call("retrieve", params, "mine"), [["accept", "text/event-stream"]]);
    expect(answer.headers["content-type"]).toBe("text/event-stream");
    expect(answer.text).toBe(
      `:\n\ndata: ${JSON.stringify(progress)}\n\ndata: {"jsonrpc":"2.0","id":"mine","result":{"hits":[]}}\n\n`,
    );
  });

  test("is not asked for when the client does not, and the reply comes in one piece", async () => {
    const { post, initialize, server } = await listen(streaming);
    await initialize();
    const answer = await post("/rcp/retrieve", call("retrieve", params, "mine"));
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(answer.text)).toEqual({ jsonrpc: "2.0", id: "mine", result: { hits: [] } });
    expect(server.calls[1]?.headers.accept).toBe("application/json");
  });

  test("that breaks off after its first frame still ends in one answer", async () => {
    const { post, initialize } = await listen(async (_one, response) => {
      startStream(response)(event(progress));
      await pause(30);
      response.destroy();
    });
    await initialize();
    const answer = await post("/rcp/retrieve", call("retrieve", params, "mine"), [["accept", "text/event-stream"]]);
    const [first = "", second = "", ...rest] = answer.text.split("\n\n");
    expect(JSON.parse(first.slice(6))).toEqual(progress);
    expect(JSON.parse(second.slice(6))).toMatchObject({ id: "mine", error: { code: -32010 } });
    expect(rest).toEqual([""]);
  });
});

test("§7.14 a client that hangs up cancels its call at the server", async () => {
  const { port, initialize, server } = await listen((one, response) => {
    if (one.body.method === "notifications/cancel") response.writeHead(204).end();
  });
  await initialize();
  const body = JSON.stringify(call("retrieve"));
  const request = http.request({ port, host: "127.0.0.1", path: "/rcp/retrieve", method: "POST" });
  request.setHeader("content-type", "application/json");
  request.on("error", () => {});
  request.end(body);
  await expect.poll(() => server.methods()).toContain("retrieve");
  request.destroy();
  await expect.poll(() => server.methods()).toContain("notifications/cancel");
  expect(server.calls[2]?.body.params.id).toBe(server.calls[1]?.body.id);
});

test("§13 all clients share one session: the second initialize is -32600, and shutdown ends it for all", async () => {
  const { post, initialize, bridge } = await listen(echo);
  expect(JSON.parse((await initialize()).text).result._meta).toEqual({ conformance: "L1" });
  expect(JSON.parse((await initialize()).text).error.code).toBe(-32600);
  const ended = await post("/rcp/shutdown", call("shutdown"));
  expect(JSON.parse(ended.text).result).toEqual({});
  expect(ended.headers.connection).toBe("close");
  expect(await bridge.ended).toBe("shutdown");
  expect(JSON.parse((await post("/rcp/ping", call("ping"))).text)).toMatchObject({ id: 1, error: { code: -32010 } });
});
