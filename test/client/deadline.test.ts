import { afterEach, describe, expect, test } from "vitest";
import { RcpClient, type RcpClientOptions } from "../../src/client/index.ts";
import { type Answer, type RcpServer, type ReceivedCall, sendError, sendResult, startRcpServer } from "./rcp-server.ts";

const servers: RcpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(answer: Answer): Promise<RcpServer> {
  const server = await startRcpServer(answer);
  servers.push(server);
  return server;
}

const client = (server: RcpServer, options: Partial<RcpClientOptions> = {}) =>
  new RcpClient({ url: server.url, retry: { retries: 3, baseMs: 1, maxMs: 2 }, ...options });
const leftOf = (call: ReceivedCall | undefined): number =>
  (call?.body.params._meta as { deadlineMs: number } | undefined)?.deadlineMs ?? Number.NaN;

const gate: Answer = (call, response) => {
  if (call.body.method !== "initialize") return;
  const capabilities = { retrieve: {} };
  const server = { name: "s", version: "1" };
  sendResult(call, response, { protocolVersion: 1, server, capabilities, _meta: { session: "s-1" } });
};

describe("a deadline", () => {
  test("is told to the server as what is left of it, less with each try, beside the caller's own _meta", async () => {
    const server = await serve((call, response) =>
      server.calls.length === 1
        ? void setTimeout(() => sendError(call, response, -32010, { retryable: true }), 30)
        : sendResult(call, response, { hits: [] }),
    );

    await client(server).retrieve({ query: "q", _meta: { traceId: "t" } }, { deadlineMs: 60_000 });

    const [first, second] = server.calls;
    expect(first?.body.params._meta).toEqual({ traceId: "t", deadlineMs: leftOf(first) });
    expect(leftOf(first)).toBeLessThanOrEqual(60_000);
    expect(leftOf(second)).toBeLessThan(leftOf(first));
  });

  test("ends the call here, too, whatever the time of one try", async () => {
    const server = await serve(() => undefined);

    const error = await client(server, { timeoutMs: 600_000 })
      .retrieve({ query: "q" }, { deadlineMs: 60 })
      .catch((e: unknown) => e);

    expect(error).toMatchObject({ name: "RcpTransportError", fault: "timeout" });
  });

  test("is not outlived by a pause", async () => {
    const server = await serve((call, response) =>
      sendError(call, response, -32011, { retryable: true, retryAfterMs: 50_000 }),
    );

    await expect(client(server).retrieve({ query: "q" }, { deadlineMs: 40_000 })).rejects.toMatchObject({
      code: -32011,
    });
    expect(server.calls).toHaveLength(1);
  });
});

describe("what a call waits for beside its own answer", () => {
  const never = () => new Promise<string>(() => {});

  test("is a token, within the deadline and until the signal", async () => {
    const server = await serve(() => undefined);
    const rcp = client(server, { token: never });
    const abort = new AbortController();

    await expect(rcp.ping({ deadlineMs: 50 })).rejects.toMatchObject({ fault: "timeout" });
    const answer = rcp.ping({ signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    expect(server.calls).toHaveLength(0);
  });

  test("is a session that others open, too, within the deadline", async () => {
    const server = await serve((call, response) => {
      if (call.body.method !== "initialize") sendError(call, response, -32001);
    });

    const answer = client(server, { timeoutMs: 600_000 }).retrieve({ query: "q" }, { deadlineMs: 2_000 });

    await expect(answer).rejects.toMatchObject({ fault: "timeout" });
  });
});

describe("in a session, a call that is left is cancelled by its id", () => {
  const cancelOf = (server: RcpServer) => server.calls.find(({ path }) => path === "/rcp/notifications/cancel");

  test.each([
    ["when its signal aborts", {}],
    ["when its time is over", { deadlineMs: 300 }],
  ])("%s", async (_name, options) => {
    const abort = new AbortController();
    const server = await serve((call, response, request) => {
      if (call.body.method === "retrieve" && !("deadlineMs" in options)) abort.abort(new Error("enough"));
      return gate(call, response, request);
    });
    const rcp = client(server, { token: "abc", retry: { retries: 0 } });
    await rcp.initialize();

    await expect(rcp.retrieve({ query: "q" }, { ...options, signal: abort.signal })).rejects.toThrow();

    await expect.poll(() => cancelOf(server)).toBeDefined();
    const cancel = cancelOf(server);
    // initialize was 1
    expect(cancel?.body).toEqual({ jsonrpc: "2.0", method: "notifications/cancel", params: { id: 2 } });
    expect(cancel?.headers).toMatchObject({ "rcp-session": "s-1", authorization: "Bearer abc" });
  });

  test("without one there is nothing to name it by, so nothing is sent", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const abort = new AbortController();
    const server = await serve((_call, response) => {
      response.on("close", resolve);
      abort.abort(new Error("enough"));
    });

    await expect(client(server).retrieve({ query: "q" }, { signal: abort.signal })).rejects.toThrow("enough");
    await closed;

    expect(cancelOf(server)).toBeUndefined();
  });

  test("a signal that has aborted sends nothing at all", async () => {
    const server = await serve(gate);

    await expect(client(server).ping({ signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
    expect(server.calls).toHaveLength(0);
  });
});
