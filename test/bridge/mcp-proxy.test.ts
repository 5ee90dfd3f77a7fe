import { describe, expect, onTestFinished, test } from "vitest";
import { createPoster } from "../../src/bridge/https-post.ts";
import { McpProxy } from "../../src/bridge/mcp-proxy.ts";
import { TLS_CERT } from "../support/tls-pair.ts";
import { type Answer, event, sendError, sendResult, sendText, startFakeServer, startStream } from "./fake-server.ts";

const ENVELOPE = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

/** A proxy before a server that answers as the test says. Both end with the test. */
async function openProxy(answer: Answer, timeoutMs = 10_000) {
  const server = await startFakeServer(answer);
  const said: string[] = [];
  const frames: unknown[] = [];
  const poster = createPoster({ base: server.base, ca: Buffer.from(TLS_CERT), token: async () => "secret-token" });
  const proxy = new McpProxy({ poster, path: "/mcp", timeoutMs, say: (line) => void said.push(line) });
  onTestFinished(async () => {
    poster.close();
    await server.close();
  });
  const onFrame = async (frame: string | undefined) => void (frame !== undefined && frames.push(JSON.parse(frame)));
  const send = async (text: string) => {
    const line = await proxy.answerLine(Buffer.from(text), { onFrame });
    expect(line ?? "").not.toContain("\n");
    return line === undefined ? undefined : JSON.parse(line);
  };
  const ask = (method: string, params: object = {}, id: unknown = 1) =>
    send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return { proxy, server, said, frames, send, ask };
}

describe("a request of the client", () => {
  test("is posted as it came, with the token, and answered with its own id", async () => {
    const { server, ask } = await openProxy((call, response) => sendResult(call, response, { ok: true }));
    for (const id of ["é", 0, ""]) {
      expect(await ask("tools/list", { a: 1 }, id)).toEqual({ jsonrpc: "2.0", id, result: { ok: true } });
    }
    const [call] = server.calls;
    expect([call?.path, call?.headers.authorization, call?.headers.accept]).toEqual([
      "/mcp",
      "Bearer secret-token",
      "application/json, text/event-stream",
    ]);
    expect(call?.text).toBe('{"jsonrpc":"2.0","id":"é","method":"tools/list","params":{"a":1}}');
  });

  test("of the newest revision says in headers what its body says", async () => {
    const { server, ask } = await openProxy((call, response) => sendResult(call, response, {}));
    await ask("tools/call", { name: "search", _meta: ENVELOPE });
    await ask("resources/read", { uri: "pgrcp://default/documents/☃", _meta: ENVELOPE });
    await ask("tools/list", { _meta: ENVELOPE });
    const sent = server.calls.map(({ headers }) => [
      headers["mcp-protocol-version"],
      headers["mcp-method"],
      headers["mcp-name"],
    ]);
    expect(sent).toEqual([
      ["2026-07-28", "tools/call", "search"],
      ["2026-07-28", "resources/read", "=?base64?cGdyY3A6Ly9kZWZhdWx0L2RvY3VtZW50cy/imIM=?="],
      ["2026-07-28", "tools/list", undefined],
    ]);
  });

  test("of a revision with a handshake says in a header what the handshake came to", async () => {
    const { server, ask } = await openProxy((call, response) =>
      sendResult(call, response, { protocolVersion: "2025-11-25" }),
    );
    await ask("initialize", { protocolVersion: "2099-01-01" });
    await ask("tools/list");
    expect(server.calls.map(({ headers }) => headers["mcp-protocol-version"])).toEqual([undefined, "2025-11-25"]);
  });

  test("that is cancelled ends at the server, and has no answer", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { server, ask, send } = await openProxy((_call, response) => void response.once("close", resolve));
    const running = ask("tools/call", {}, 7);
    await expect.poll(() => server.calls.length).toBe(1);

    await send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}');

    expect(await running).toBeUndefined();
    await ended;
  });

  test("may be answered by a stream, whose frames come first", async () => {
    const note = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
    const { ask, frames } = await openProxy((call, response) => {
      startStream(response)(`: hello\n\n${event(note)}${event({ jsonrpc: "2.0", id: call.body.id, result: {} })}`);
      response.end();
    });
    expect(await ask("subscriptions/listen")).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    expect(frames).toEqual([note]);
  });
});

describe("what is no request", () => {
  test("is answered here, or by nothing, and never sent", async () => {
    const { server, send } = await openProxy((call, response) => sendResult(call, response, {}));
    expect(await send("nonsense")).toMatchObject({ id: null, error: { code: -32700 } });
    expect(await send("[]")).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await send('{"id":1,"method":"x"}')).toMatchObject({ id: 1, error: { code: -32600 } });
    expect(await send('{"jsonrpc":"2.0","id":1,"method":"x\\ny"}')).toMatchObject({ id: 1, error: { code: -32601 } });
    expect(await send('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toBeUndefined();
    expect(await send('{"jsonrpc":"2.0","id":1,"result":{}}')).toBeUndefined();
    expect(server.calls).toEqual([]);
  });
});

describe("a failure is told to the client and on standard error, in the same words", () => {
  test.each<[string, Answer, RegExp]>([
    ["a refused token", (_call, response) => sendText(response, 401, ""), /refuses the token \(HTTP 401\)/],
    ["no door", (_call, response) => sendText(response, 404, ""), /no MCP door there \(HTTP 404\).*doors\.mcp/],
    [
      "load",
      (_call, response) => sendText(response, 429, "", { "retry-after": "3" }),
      /\(HTTP 429\): try again in 3 s/,
    ],
    ["a proxy's page", (_call, response) => sendText(response, 200, "<html>"), /no MCP answer to the request/],
    [
      "another's answer",
      (_call, response) => sendText(response, 200, '{"id":9,"result":{}}'),
      /no MCP answer to the request/,
    ],
    [
      "a stream that breaks off",
      (_call, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(":\n\n"),
      /ended without an answer/,
    ],
    ["a lost connection", (_call, response) => void response.destroy(), /the connection was lost/],
  ])("%s", async (_what, answer, text) => {
    const { ask, said } = await openProxy(answer);
    const { id, error } = await ask("tools/list");
    expect([id, error.code, error.message]).toEqual([1, -32603, expect.stringMatching(text)]);
    expect(said).toEqual([error.message]);
  });

  test("a server that is away", async () => {
    const { server, ask } = await openProxy(() => {});
    await server.close();
    expect((await ask("tools/list")).error.message).toBe("no answer from the server: connection refused");
  });

  test("no answer in time", async () => {
    const { ask } = await openProxy(() => {}, 50);
    expect((await ask("tools/list")).error.message).toBe("no answer within the time allowed");
  });

  test("the door's own refusal of a request is passed on with its code", async () => {
    const { ask, said } = await openProxy((_call, response) =>
      sendText(response, 400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"one message"}}'),
    );
    expect(await ask("tools/list")).toEqual({ jsonrpc: "2.0", id: 1, error: { code: -32600, message: "one message" } });
    expect(said).toEqual([]);
  });

  test("an error of a method is no failure", async () => {
    const { ask, said } = await openProxy((call, response) => sendError(call, response, -32602));
    expect(await ask("tools/list")).toMatchObject({ error: { code: -32602 } });
    expect(said).toEqual([]);
  });
});

describe("when it closes", () => {
  test("what runs is finished", async () => {
    const gate = Promise.withResolvers<void>();
    const { proxy, server, ask } = await openProxy(async (call, response) => {
      await gate.promise;
      sendResult(call, response, {});
    });
    const running = ask("tools/list");
    await expect.poll(() => server.calls.length).toBe(1);
    const closed = proxy.close(60_000);
    gate.resolve();
    await closed;
    expect(await running).toMatchObject({ id: 1, result: {} });
  });

  test("what would run on is ended when its time is over", async () => {
    const { proxy, server, ask } = await openProxy(() => {});
    const running = ask("tools/call");
    await expect.poll(() => server.calls.length).toBe(1);
    await proxy.close(1);
    expect((await running).error.message).toBe("the bridge is closing");
  });
});
