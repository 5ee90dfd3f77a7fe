import { inspect } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { RcpCallError, RcpClient, type RcpClientOptions, RcpTransportError } from "../../src/client/index.ts";
import { type Answer, type RcpServer, sendError, sendJson, sendResult, startRcpServer } from "./rcp-server.ts";

const servers: RcpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** A server that gives the answers in turn; the last one is given to all later calls. */
async function serve(...answers: readonly Answer[]): Promise<RcpServer> {
  let next = 0;
  const server = await startRcpServer((call, response, request) => {
    const answer = answers[Math.min(next++, answers.length - 1)];
    return answer?.(call, response, request);
  });
  servers.push(server);
  return server;
}

const client = (server: RcpServer, options: Partial<RcpClientOptions> = {}) =>
  new RcpClient({ url: server.url, retry: { retries: 3, baseMs: 1, maxMs: 5 }, ...options });

const noHits: Answer = (call, response) => sendResult(call, response, { hits: [], usage: {} });
const refuse =
  (code: number, data: object = {}, status = 200): Answer =>
  (call, response) =>
    sendError(call, response, code, data, status);
const cut: Answer = (_call, response) => void response.socket?.destroy();

test("a call is a JSON-RPC request posted to base/method with the token as bearer", async () => {
  const server = await serve(noHits);

  await client(server, { token: "abc" }).retrieve({ query: "q", k: 3 });

  const [call] = server.calls;
  expect(call?.path).toBe("/rcp/retrieve");
  expect(call?.headers.authorization).toBe("Bearer abc");
  expect(call?.headers["content-type"]).toBe("application/json");
  expect(call?.body).toEqual({ jsonrpc: "2.0", id: 1, method: "retrieve", params: { query: "q", k: 3 } });
});

test("another corpus has its own path and a method with a slash keeps it", async () => {
  const server = await serve((call, response) => sendResult(call, response, { ids: ["a"] }));

  await client(server, { corpus: "papers" }).indexAdd([{ id: "a", text: "t" }]);

  expect(server.calls[0]?.path).toBe("/corpora/papers/rcp/index/add");
});

describe("retries", () => {
  test("a rate limit by HTTP 429 is waited out for as long as Retry-After says", async () => {
    const server = await serve((_call, response) => sendJson(response, 429, {}, { "retry-after": "1" }), noHits);

    await client(server).retrieve({ query: "q" });

    const [first, second] = server.calls;
    expect(server.calls).toHaveLength(2);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test("the longer of retryAfterMs and Retry-After counts", async () => {
    const server = await serve(
      (call, response) =>
        sendJson(
          response,
          200,
          { jsonrpc: "2.0", id: call.body.id, error: { code: -32011, message: "m", data: { retryAfterMs: 300 } } },
          { "retry-after": "0" },
        ),
      noHits,
    );

    await client(server).retrieve({ query: "q" });

    expect((server.calls[1]?.at ?? 0) - (server.calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(295);
  });

  test("a pause longer than the client is willing to wait ends the call", async () => {
    const server = await serve(refuse(-32011, { retryable: true, retryAfterMs: 600_000 }));

    await expect(client(server).retrieve({ query: "q" })).rejects.toMatchObject({ code: -32011 });
    expect(server.calls).toHaveLength(1);
  });

  test.each([-32010, -32014])("%i is tried again", async (code) => {
    const server = await serve(refuse(code, { retryable: true }), refuse(code, { retryable: true }), noHits);

    await client(server).retrieve({ query: "q" });

    expect(server.calls).toHaveLength(3);
  });

  test("-32010 that says it is not retryable is not", async () => {
    const server = await serve(refuse(-32010, { retryable: false }));

    await expect(client(server).retrieve({ query: "q" })).rejects.toMatchObject({ code: -32010 });
    expect(server.calls).toHaveLength(1);
  });

  test("-32603 is tried once more, then it is final", async () => {
    const server = await serve(refuse(-32603));

    await expect(client(server).retrieve({ query: "q" })).rejects.toMatchObject({ code: -32603 });
    expect(server.calls).toHaveLength(2);
  });

  test.each([-32602, -32002, -32003, -32004, -32005, -32012, -32013, -32015, -32016, -32099])(
    "%i is final",
    async (code) => {
      const server = await serve(refuse(code, { field: "k", detail: "d" }));

      const error = await client(server)
        .retrieve({ query: "q" })
        .catch((e: unknown) => e);

      expect(error).toBeInstanceOf(RcpCallError);
      expect(error).toMatchObject({ code, data: { field: "k", detail: "d" }, httpStatus: 200 });
      expect(server.calls).toHaveLength(1);
    },
  );

  test("a code that the caller handles itself is not retried", async () => {
    const server = await serve(refuse(-32014, { retryable: true }));

    await expect(client(server).retrieve({ query: "q" }, { noRetry: [-32014] })).rejects.toMatchObject({
      code: -32014,
    });
    expect(server.calls).toHaveLength(1);
  });

  test("a proxy's 502 page counts as a backend that is away", async () => {
    const server = await serve((_call, response) => void response.writeHead(502).end("<h1>Bad Gateway</h1>"), noHits);

    await client(server).retrieve({ query: "q" });

    expect(server.calls).toHaveLength(2);
  });

  test("a cut connection is tried again when all documents have ids", async () => {
    const server = await serve(cut, (call, response) => sendResult(call, response, { ids: ["a"], chunks: 1 }));

    const result = await client(server).indexAdd([{ id: "a", text: "t" }]);

    expect(result).toEqual({ ids: ["a"], chunks: 1 });
    expect(server.calls).toHaveLength(2);
  });

  test("a cut connection is final when a repeat could add a document twice", async () => {
    const server = await serve(cut);

    const error = await client(server)
      .indexAdd([{ id: "a", text: "t" }, { text: "u" }])
      .catch((e: unknown) => e);

    expect(error).toBeInstanceOf(RcpTransportError);
    expect(error).toMatchObject({ fault: "interrupted" });
    expect(server.calls).toHaveLength(1);
  });

  test("an answer that is cut in its middle is tried again", async () => {
    const server = await serve((_call, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"jsonrpc":');
      setTimeout(() => response.socket?.destroy(), 20);
    }, noHits);

    await client(server).retrieve({ query: "q" });

    expect(server.calls).toHaveLength(2);
  });

  test("a server that is not there is reported as unreachable after the allowed tries", async () => {
    const server = await serve(noHits);
    await server.close();
    const notices: number[] = [];

    const error = await client(server, { onRetry: ({ delayMs }) => notices.push(delayMs) })
      .ping()
      .catch((e: unknown) => e);

    expect(error).toMatchObject({ fault: "unreachable", detail: "connection refused" });
    expect(notices).toHaveLength(3);
  });
});

describe("deadlines and cancellation", () => {
  test("a server that does not answer in time gives a timeout", async () => {
    const server = await serve(() => undefined);

    const error = await client(server, { timeoutMs: 50, retry: { retries: 0 } })
      .retrieve({ query: "q" })
      .catch((e: unknown) => e);

    expect(error).toMatchObject({ name: "RcpTransportError", fault: "timeout" });
  });

  test("an abort ends the call with the caller's reason and closes the connection", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const abort = new AbortController();
    const server = await serve((_call, response) => {
      response.on("close", resolve);
      abort.abort(new Error("enough"));
    });

    await expect(client(server).retrieve({ query: "q" }, { signal: abort.signal })).rejects.toThrow("enough");
    await closed;
    expect(server.calls).toHaveLength(1);
  });

  test("an abort ends a pause between tries", async () => {
    const abort = new AbortController();
    const server = await serve((call, response) => {
      sendError(call, response, -32011, { retryable: true, retryAfterMs: 20_000 });
      setTimeout(() => abort.abort(new Error("enough")), 50);
    });

    await expect(client(server).retrieve({ query: "q" }, { signal: abort.signal })).rejects.toThrow("enough");
  });
});

describe("tokens", () => {
  test("a refused token is fetched anew and the call repeated once", async () => {
    const server = await serve((call, response) =>
      call.headers.authorization === "Bearer new"
        ? sendResult(call, response, {})
        : sendError(call, response, -32012, {}, 401),
    );

    await client(server, { token: (refused) => (refused ? "new" : "old") }).ping();

    expect(server.calls.map((call) => call.headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
  });

  test("the same token is not sent twice after a refusal", async () => {
    const server = await serve(refuse(-32012, {}, 401));

    await expect(client(server, { token: () => "old" }).ping()).rejects.toMatchObject({
      code: -32012,
      httpStatus: 401,
    });
    expect(server.calls).toHaveLength(1);
  });

  test("a redirect is not followed, so the token goes nowhere else", async () => {
    const elsewhere = await serve(noHits);
    const server = await serve(
      (_call, response) => void response.writeHead(307, { location: `${elsewhere.url}/ping` }).end(),
    );

    await expect(client(server, { token: "abc" }).ping()).rejects.toMatchObject({ fault: "status" });
    expect(elsewhere.calls).toHaveLength(0);
  });

  test.each(["http://10.0.0.1:8787/rcp", "http://pgrcp.example/rcp", "http://127.0.0.1.example/rcp"])(
    "a token does not travel over plain http to %s",
    (url) => {
      expect(() => new RcpClient({ url, token: "abc" })).toThrow(/https/);
      expect(() => new RcpClient({ url, token: "abc", allowPlainHttp: true })).not.toThrow();
      expect(() => new RcpClient({ url })).not.toThrow();
    },
  );
});

describe("sessions", () => {
  const gate: Answer = (call, response) => {
    if (call.body.method === "initialize") {
      sendResult(call, response, {
        protocolVersion: 1,
        server: { name: "s", version: "1" },
        capabilities: { retrieve: {} },
        _meta: { session: "s-1" },
      });
    } else if (call.headers["rcp-session"] !== "s-1") sendError(call, response, -32001);
    else sendResult(call, response, { hits: [], usage: {} });
  };

  test("a server that requires a session gets one, once for all calls that found out together", async () => {
    const server = await serve(gate);
    const rcp = client(server);

    await Promise.all([1, 2, 3, 4].map(() => rcp.retrieve({ query: "q" })));
    await rcp.retrieve({ query: "q" });

    expect(server.calls.filter((call) => call.body.method === "initialize")).toHaveLength(1);
    expect(server.calls.at(-1)?.headers["rcp-session"]).toBe("s-1");
  });

  test("a server that refuses the session it gave is not asked for ever", async () => {
    const server = await serve((call, response, request) =>
      call.body.method === "initialize" ? gate(call, response, request) : sendError(call, response, -32001),
    );

    await expect(client(server).retrieve({ query: "q" })).rejects.toMatchObject({ code: -32001 });
    expect(server.calls.map((call) => call.body.method)).toEqual(["retrieve", "initialize", "retrieve"]);
  });

  test("closing ends the session and does nothing without one", async () => {
    const server = await serve(gate);
    const rcp = client(server);

    await rcp.close();
    expect(server.calls).toHaveLength(0);
    await rcp.initialize();
    await rcp.close();

    expect(server.calls.map((call) => call.body.method)).toEqual(["initialize", "shutdown"]);
    expect(server.calls[1]?.headers["rcp-session"]).toBe("s-1");
  });
});

describe("answers that are not answers", () => {
  test.each<[string, Answer]>([
    ["text", (_call, response) => void response.writeHead(200).end("hello")],
    ["another request's answer", (_call, response) => sendJson(response, 200, { jsonrpc: "2.0", id: 99, result: {} })],
    ["a result that is no object", (call, response) => sendJson(response, 200, { id: call.body.id, result: [] })],
    ["hits without ids", (call, response) => sendResult(call, response, { hits: [{ score: 1 }] })],
    ["more bytes than allowed", (call, response) => sendResult(call, response, { hits: [], pad: "x".repeat(2000) })],
  ])("%s is malformed and not asked for again", async (_name, answer) => {
    const server = await serve(answer);

    const error = await client(server, { maxResponseBytes: 1000 })
      .retrieve({ query: "q" })
      .catch((e: unknown) => e);

    expect(error).toMatchObject({ name: "RcpTransportError", fault: "malformed" });
    expect(server.calls).toHaveLength(1);
  });

  test("404 is a status, not a malformed answer", async () => {
    const server = await serve((_call, response) => void response.writeHead(404).end());

    await expect(client(server).ping()).rejects.toMatchObject({ fault: "status", detail: "HTTP status 404" });
  });
});

test("§7.7 hits of other servers may have numbers for ids and name no document", async () => {
  const hits = [
    { id: 7, score: 2 },
    { id: "a#1", score: 1, chunk: { docId: "a", index: 1 } },
  ];
  const read = await client(await serve((call, response) => sendResult(call, response, { hits }))).retrieve({
    query: "q",
  });
  expect(read.hits.map(({ id, chunk }) => [id, chunk.docId])).toEqual([
    ["7", "7"],
    ["a#1", "a"],
  ]);
});

test("a token that no header carries is refused without being repeated", async () => {
  const wrong = new RcpClient({ url: "http://127.0.0.1:9/rcp", token: "sec\nret" });
  const error = await wrong.ping().catch((e: unknown) => e);
  expect(error).toBeInstanceOf(TypeError);
  expect(inspect(error)).not.toMatch(/sec\s*ret/);
});

test("params that are no JSON are the caller's mistake, and no lost connection", async () => {
  const filter = { field: "year", op: "eq", value: 1n as unknown as number } as const;
  const one = new RcpClient({ url: "http://127.0.0.1:9/rcp" });
  await expect(one.retrieve({ query: "q", filter })).rejects.toThrow(TypeError);
});
