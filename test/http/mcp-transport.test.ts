import { once } from "node:events";
import net from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Handler } from "../../src/methods/handler.ts";
import { PLAN_ONLY_HANDLERS } from "../support/plan-only-handlers.ts";
import type { RawRequest } from "../support/raw-http.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** What the MCP door has of HTTP, and shares with RCP's own. */

const ACCEPT = "application/json, text/event-stream";
const call = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: "2.0", id, method, params });
const SEARCH = call(1, "tools/call", { name: "search", arguments: { query: "x" } });

let open: (signal: AbortSignal) => void = () => {};
const retrieve: Handler = async ({ query }, { signal }) => {
  if (query === "bug") throw new Error("a bug that quotes s3cret");
  if (query !== "wait") return { hits: [], usage: { candidates: 0, reranked: 0, latencyMs: 0 } };
  open(signal);
  await once(signal, "abort");
  throw signal.reason;
};

const start = (config: object = {}) =>
  startRcpServer({ config: { ...config }, handlers: { ...PLAN_ONLY_HANDLERS, retrieve } });

let server: RcpServer;
let token: string;
beforeAll(async () => {
  server = await start({
    server: { publicUrl: "https://rcp.example.org", maxBodyBytes: 2_000 },
    cors: { origins: ["https://app.example.org"] },
    limits: { maxJsonDepth: 20 },
  });
  token = await server.token();
});
afterAll(() => server.close());

const post = async (body: unknown, headers: RawRequest["headers"] = [], to: RcpServer = server) =>
  to.send({
    path: "/mcp",
    headers: [
      ["authorization", `Bearer ${await to.token()}`],
      ["content-type", "application/json"],
      ["accept", ACCEPT],
      ...headers,
    ],
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("POST /mcp", () => {
  test.each([
    ["/mcp", "/mcp"],
    ["/corpora/docs/mcp", "/corpora/docs/mcp"],
  ])("at %s without a good token is 401, before the body is read, and says where metadata is", async (path, base) => {
    const where = `resource_metadata="https://rcp.example.org/.well-known/oauth-protected-resource${base}"`;
    const none = await server.send({ path, body: "{}" });
    const bad = await server.send({ path, body: "{}", headers: [["authorization", "Bearer x"]] });

    expect(none).toMatchObject({ status: 401, headers: { "www-authenticate": `Bearer realm="pgrcp", ${where}` } });
    expect(bad).toMatchObject({ status: 401, text: none.text });
    expect(bad.headers["www-authenticate"]).toBe(`Bearer realm="pgrcp", error="invalid_token", ${where}`);
  });

  test.each([
    ["no JSON", "nonsense", -32700],
    ["several messages, none of which runs", [SEARCH, SEARCH], -32600],
    ["null", "null", -32600],
    ["what nests too deeply", `${'{"a":'.repeat(30)}1${"}".repeat(30)}`, -32600],
    ["no JSON-RPC", { id: 1 }, -32600],
  ])("%s is 400", async (_what, body, code) => {
    server.observations.length = 0;
    expect(await post(body)).toMatchObject({ status: 400, body: { id: null, error: { code } } });
    expect(server.observations).toEqual([]);
  });

  test("has the limits of RCP's own bodies: one type, so many bytes", async () => {
    expect((await post("x".repeat(2_001))).status).toBe(413);
    const untyped = { path: "/mcp", headers: [["authorization", `Bearer ${token}`]], body: "{}" } as const;
    expect((await server.send(untyped)).status).toBe(415);
  });

  test("answers a notification with 202 and nothing", async () => {
    const { status, text } = await post({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([status, text]).toEqual([202, ""]);
  });

  test("counts a unit of the caller's rate for each request, as RCP does", async () => {
    const strict = await start({ rateLimit: { principal: { max: 2 } } });
    const statuses = [await post(SEARCH, [], strict), await post(SEARCH, [], strict), await post(SEARCH, [], strict)];
    await strict.close();
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429]);
  });

  test("is told in the log as the RCP call that it makes, and a bug is told to nobody else", async () => {
    server.observations.length = 0;
    const bug = await post(call(1, "tools/call", { name: "search", arguments: { query: "bug" } }));

    expect(bug.body).toMatchObject({ result: { isError: true, _meta: { "pgrcp/code": -32603 } } });
    expect(bug.text).not.toContain("s3cret");
    expect(server.observations).toMatchObject([
      { kind: "internal-error", where: "retrieve" },
      { kind: "request", method: "retrieve", tenant: "acme", corpus: "default", code: -32603 },
    ]);
  });

  test("a client that leaves ends its call", async () => {
    const running = new Promise<AbortSignal>((resolve) => {
      open = resolve;
    });
    const body = JSON.stringify(call(1, "tools/call", { name: "search", arguments: { query: "wait" } }));
    const head = [
      "POST /mcp HTTP/1.1",
      "host: x",
      `authorization: Bearer ${token}`,
      "content-type: application/json",
      `accept: ${ACCEPT}`,
      `content-length: ${body.length}`,
    ];
    const socket = net.connect(server.port, "127.0.0.1");
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);

    const signal = await running;
    socket.destroy();
    if (!signal.aborted) await once(signal, "abort");

    expect(signal.reason).toMatchObject({ code: -32006 });
  });

  test("a subscription has nothing to wait for, and ends at once", async () => {
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const listen = call(7, "subscriptions/listen", { _meta: envelope, notifications: { toolsListChanged: true } });
    const { status, headers, text } = await post(listen, [
      ["mcp-protocol-version", "2026-07-28"],
      ["mcp-method", "subscriptions/listen"],
    ]);
    expect([status, headers["content-type"]]).toEqual([200, "text/event-stream"]);
    expect(text).toContain('"id":7,"result"');
  });
});

describe("MCP, streamable HTTP, an origin", () => {
  test.each([
    ["https://app.example.org", 200],
    ["https://rcp.example.org", 200],
    ["http://localhost:5173", 200],
    ["http://127.0.0.1:8787", 200],
    ["http://[::1]:8787", 200],
    ["http://evil.example", 403],
    ["http://localhost.evil.example", 403],
    ["null", 403],
  ])("%s is answered with %i by a server on loopback", async (origin, status) => {
    expect((await post(SEARCH, [["origin", origin]])).status).toBe(status);
  });
});

describe("the target /mcp", () => {
  test.each(["GET", "DELETE", "PUT"])("answers %s with 405: there are no streams and no sessions", async (method) => {
    const { status, headers, text } = await server.send({ method, path: "/mcp" });
    expect([status, headers.allow, text]).toEqual([405, "POST, OPTIONS", ""]);
  });

  test("is not there when its door is shut", async () => {
    const shut = await start({ doors: { mcp: false }, server: { publicUrl: "https://rcp.example.org" } });
    const { status } = await shut.send({ path: "/mcp", body: "{}" });
    const metadata = await shut.send({ method: "GET", path: "/.well-known/oauth-protected-resource/mcp" });
    await shut.close();
    expect([status, metadata.status]).toEqual([404, 404]);
  });
});
