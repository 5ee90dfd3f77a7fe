import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Answer, sendResult, sendText, withSessions } from "./fake-server.ts";
import { openBridge } from "./open-bridge.ts";

/** A session is open; every further call is answered so. */
async function initialized(answer: Answer, parts: Parameters<typeof openBridge>[1] = {}) {
  const open = await openBridge(withSessions(answer), parts);
  await open.initialize();
  return open;
}

describe("§4.7 an id comes back as it was sent", () => {
  test.each([
    ["1", "1"],
    ['"1"', '"1"'],
    ["0", "0"],
    ['""', '""'],
    ["1.5", "1.5"],
    ["1e2", "100"],
    ["9007199254740991", "9007199254740991"],
    ["-9007199254740991", "-9007199254740991"],
    ['"9007199254740993"', '"9007199254740993"'],
    ['"\\ud800"', '"\\ud800"'],
    ['"__proto__"', '"__proto__"'],
  ])("%s", async (id, echoed) => {
    const { send } = await initialized((call, response) => sendResult(call, response, {}));
    expect(await send(`{"jsonrpc":"2.0","id":${id},"method":"retrieve"}`)).toBe(
      `{"jsonrpc":"2.0","id":${echoed},"result":{}}`,
    );
  });

  test.each(["9007199254740993", "1e400", "null", "true", "[]", "{}"])(
    "or is refused with -32600 and null, and nothing is sent: %s",
    async (id) => {
      const { send, server } = await initialized(() => {});
      const frame = JSON.parse((await send(`{"jsonrpc":"2.0","id":${id},"method":"retrieve"}`)) ?? "");
      expect(frame).toMatchObject({ id: null, error: { code: -32600 } });
      expect(server.methods()).toEqual(["initialize"]);
    },
  );

  test("while the server sees numbers of the bridge's own, so that equal ids of two clients do not meet", async () => {
    const { ask, server } = await initialized((call, response) => sendResult(call, response, {}));
    await Promise.all([ask("retrieve", {}, 1), ask("retrieve", {}, 1)]);
    const ids = server.calls.map(({ body }) => body.id);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every(Number.isSafeInteger)).toBe(true);
  });
});

describe("every call is answered once with its own id when the server's answer is", () => {
  const cases: [name: string, answer: Answer, code: number][] = [
    [
      "an error with id null",
      (_call, response) =>
        sendText(response, 200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'),
      -32600,
    ],
    ["empty", (_call, response) => sendText(response, 200, ""), -32010],
    ["204", (_call, response) => void response.writeHead(204).end(), -32010],
    ["not JSON", (_call, response) => sendText(response, 200, "<html>"), -32010],
    [
      "cut off",
      (_call, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write('{"jsonrpc"');
        setTimeout(() => response.destroy(), 20);
      },
      -32010,
    ],
    [
      "of another request",
      (call, response) =>
        sendText(response, 200, JSON.stringify({ jsonrpc: "2.0", id: Number(call.body.id) + 1, result: {} })),
      -32010,
    ],
    ["401 without a body", (_call, response) => sendText(response, 401, ""), -32012],
    ["413", (_call, response) => sendText(response, 413, ""), -32013],
    ["429", (_call, response) => sendText(response, 429, "", { "retry-after": "3" }), -32011],
    ["500", (_call, response) => sendText(response, 500, "oops"), -32010],
    ["503", (_call, response) => sendText(response, 503, ""), -32010],
    [
      "a redirect, which is not followed",
      (_call, response) => sendText(response, 307, "", { location: "/elsewhere" }),
      -32010,
    ],
    ["a reset", (_call, response) => void response.socket?.destroy(), -32010],
  ];

  test.each(cases)("%s", async (_name, answer, code) => {
    const { ask, server } = await initialized(answer);
    const frame = await ask("retrieve", {}, "mine");
    expect(frame).toMatchObject({ jsonrpc: "2.0", id: "mine", error: { code } });
    if (code === -32011) expect(frame.error?.data).toMatchObject({ retryable: true, retryAfterMs: 3_000 });
    expect(server.methods()).toEqual(["initialize", "retrieve"]);
  });

  test("none: the deadline passed, and the server is cut off", async () => {
    let isGone = false;
    const { ask } = await initialized(
      (_call, _response, request) => {
        request.socket.once("close", () => {
          isGone = true;
        });
      },
      { timeoutMs: 2_000 },
    );
    expect((await ask("retrieve", {}, 5)).error).toMatchObject({ code: -32014, data: { retryable: true } });
    await expect.poll(() => isGone).toBe(true);
  });

  test("later than _meta.deadlineMs and a second: -32014", async () => {
    const { ask } = await initialized(() => {});
    const startedAt = performance.now();
    expect((await ask("retrieve", { _meta: { deadlineMs: 50 } })).error?.code).toBe(-32014);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });
});

describe("a server that cannot be reached is -32010 and may be tried again", () => {
  test("refused", async () => {
    const { ask, server, said } = await openBridge(() => {});
    await server.close();
    expect((await ask("ping")).error).toMatchObject({
      code: -32010,
      data: { retryable: true, detail: "connection refused" },
    });
    expect(said).toEqual(["no answer from the server: connection refused"]);
  });

  test("a certificate that is not trusted: nothing is sent", async () => {
    const { ask, server, said } = await openBridge(() => {}, { trustsServer: false });
    expect((await ask("ping")).error).toMatchObject({ code: -32010, data: { retryable: true } });
    expect(server.calls).toEqual([]);
    expect(said[0]).toContain("TLS could not be established");
  });

  test("a host that takes the connection and never ends the handshake", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const { ask } = await openBridge(() => {}, { base: new URL(`https://127.0.0.1:${port}/rcp`) });
    const startedAt = performance.now();
    expect((await ask("ping")).error).toMatchObject({ code: -32010, data: { retryable: true } });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    silent.close();
  });
});

describe("what is sent upstream", () => {
  test("the token of the moment, to the method's own path", async () => {
    const tokens = ["first", "second"];
    const { ask, server } = await openBridge((call, response) => sendResult(call, response, {}), {
      token: async () => tokens.shift(),
    });
    await ask("ping");
    await ask("info");
    expect(server.calls.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/rcp/ping", "Bearer first"],
      ["/rcp/info", "Bearer second"],
    ]);
  });

  test("params as they came, numbers too large for a double and __proto__ included", async () => {
    const { send, server } = await initialized((call, response) => sendResult(call, response, {}));
    await send(
      '{"jsonrpc":"2.0","id":1,"method":"retrieve","params":{"k":1e400,"min":-1e400,"__proto__":{"a":0.1},"q":"\\ud83d\\ude00"}}',
    );
    expect(server.calls[1]?.text).toMatch(/"params":\{"k":1e999,"min":-1e999,"__proto__":\{"a":0.1\},"q":"😀"\}\}$/u);
    await send('{"jsonrpc":"2.0","id":1,"method":"retrieve"}');
    expect(server.calls[2]?.text).toMatch(/"method":"retrieve"\}$/);
  });

  test("no name that a path cannot hold: RCP has no such method", async () => {
    const { ask, server } = await initialized(() => {});
    for (const method of ["a b", "../x?y", "ré", "a//b", ""]) expect((await ask(method)).error?.code).toBe(-32004);
    expect(server.methods()).toEqual(["initialize"]);
  });

  test("no params that are nested too deeply to be written: -32602", async () => {
    const { send, server } = await initialized(() => {});
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    const text = await send(`{"jsonrpc":"2.0","id":1,"method":"retrieve","params":{"x":${deep}}}`);
    expect(JSON.parse(text ?? "")).toMatchObject({ id: 1, error: { code: -32602, data: { field: "params" } } });
    expect(server.methods()).toEqual(["initialize"]);
  });

  test("no notification but cancel, and none is answered", async () => {
    const { send, server } = await initialized(() => {});
    for (const method of ["retrieve", "notifications/other", "initialize"])
      expect(await send(`{"jsonrpc":"2.0","method":"${method}","params":{}}`)).toBeUndefined();
    await pause(50);
    expect(server.methods()).toEqual(["initialize"]);
  });
});

describe("§7.14 notifications/cancel", () => {
  test("names the server's id, in the session, and the call is answered -32006 once", async () => {
    let isGone = false;
    const { ask, send, server } = await initialized((call, response, request) => {
      if (call.body.method === "notifications/cancel") return void response.writeHead(204).end();
      request.socket.once("close", () => {
        isGone = true;
      });
    });
    const running = ask("retrieve", {}, "mine");
    await expect.poll(() => server.methods()).toEqual(["initialize", "retrieve"]);
    const upstreamId = server.calls[1]?.body.id;
    expect(
      await send('{"jsonrpc":"2.0","method":"notifications/cancel","params":{"id":"mine","reason":"bored"}}'),
    ).toBeUndefined();

    expect(await running).toMatchObject({ id: "mine", error: { code: -32006 } });
    await expect.poll(() => server.methods()).toEqual(["initialize", "retrieve", "notifications/cancel"]);
    const cancel = server.calls[2];
    expect(cancel?.body.params).toEqual({ id: upstreamId, reason: "bored" });
    expect(cancel?.body.id).toBeUndefined();
    expect(cancel?.headers["rcp-session"]).toBe("s1");
    await expect.poll(() => isGone).toBe(true);
  });

  test("of an id that does not run, or only looks alike, does nothing", async () => {
    const { ask, send, server } = await initialized(async (call, response) => {
      await pause(100);
      sendResult(call, response, { done: true });
    });
    const running = ask("retrieve", {}, 1);
    for (const id of ['"1"', "2", "null", "[1]", "1.5"])
      await send(`{"jsonrpc":"2.0","method":"notifications/cancel","params":{"id":${id}}}`);
    expect((await running).result).toEqual({ done: true });
    expect(server.methods()).toEqual(["initialize", "retrieve"]);
  });

  test("a caller that is gone cancels its call", async () => {
    const { ask, server } = await initialized((call, response) => {
      if (call.body.method === "notifications/cancel") response.writeHead(204).end();
    });
    const gone = new AbortController();
    const running = ask("retrieve", {}, 1, { gone: gone.signal });
    await expect.poll(() => server.methods()).toContain("retrieve");
    gone.abort();
    expect((await running).error?.code).toBe(-32006);
    await expect.poll(() => server.methods()).toContain("notifications/cancel");
  });
});

describe("§11 a batch", () => {
  const echo: Answer = (call, response) => sendResult(call, response, { method: call.body.method });

  test("is answered in one array, a member each, with what is wrong beside what is right", async () => {
    const { send } = await initialized(echo);
    const text = await send(
      '[{"jsonrpc":"2.0","id":1,"method":"retrieve"},{"jsonrpc":"2.0","method":"ping"},5,{"jsonrpc":"2.0","id":"b","method":"ping"},{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}]',
    );
    expect(JSON.parse(text ?? "")).toMatchObject([
      { id: 1, result: { method: "retrieve" } },
      { id: null, error: { code: -32600 } },
      { id: "b", result: { method: "ping" } },
      { id: 3, error: { code: -32600 } },
    ]);
  });

  test("before initialize has its gated members refused, each with its id", async () => {
    const { send } = await openBridge(echo);
    const text = await send('[{"jsonrpc":"2.0","id":1,"method":"retrieve"},{"jsonrpc":"2.0","id":2,"method":"ping"}]');
    expect(JSON.parse(text ?? "")).toMatchObject([
      { id: 1, error: { code: -32001 } },
      { id: 2, result: {} },
    ]);
  });

  test("has no place for initialize beside others: -32600, and nothing is initialized", async () => {
    const { send, ask } = await openBridge(echo);
    const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}';
    const text = await send(`[${initialize},{"jsonrpc":"2.0","id":2,"method":"ping"}]`);
    expect(JSON.parse(text ?? "")).toMatchObject([
      { id: 1, error: { code: -32600 } },
      { id: 2, result: {} },
    ]);
    expect((await ask("retrieve")).error?.code).toBe(-32001);
    expect(JSON.parse((await send(`[${initialize}]`)) ?? "")).toMatchObject([{ id: 1, result: {} }]);
    expect((await ask("retrieve")).error).toBeUndefined();
  });

  test("of nothing is -32600, of notifications alone is silent, of more than 100 is -32013", async () => {
    const { send, server } = await initialized(echo);
    expect(JSON.parse((await send("[]")) ?? "")).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await send('[{"jsonrpc":"2.0","method":"ping"}]')).toBeUndefined();
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    expect(JSON.parse((await send(`[${Array(101).fill(ping).join()}]`)) ?? "")).toMatchObject({
      id: null,
      error: { code: -32013 },
    });
    expect(server.methods()).toEqual(["initialize"]);
    expect(JSON.parse((await send(`[${Array(100).fill(ping).join()}]`)) ?? "")).toHaveLength(100);
  });

  test("that shuts down starts none of its later members", async () => {
    const { send, server } = await initialized(echo);
    const text = await send(
      '[{"jsonrpc":"2.0","id":1,"method":"shutdown"},{"jsonrpc":"2.0","id":2,"method":"retrieve"}]',
    );
    expect(JSON.parse(text ?? "")).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32010 } },
    ]);
    expect(server.methods()).toEqual(["initialize", "shutdown"]);
  });
});
