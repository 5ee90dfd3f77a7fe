import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { RcpClient, type RetrieveEvent } from "../../src/client/index.ts";
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

const client = (server: RcpServer) =>
  new RcpClient({ url: server.url, retry: { retries: 1, baseMs: 1 }, timeoutMs: 600_000 });
const open = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" });
const frame = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const progress = (token: unknown, value: number, stage = "recall") =>
  frame({ method: "notifications/progress", params: { progressToken: token, progress: value, stage } });
const result = (call: ReceivedCall) => frame({ id: call.body.id, result: { hits: [], usage: {} } });
const tokenOf = (call: ReceivedCall) => (call.body.params._meta as { progressToken?: unknown }).progressToken;

async function collect(events: AsyncIterable<RetrieveEvent>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) seen.push(event.kind === "progress" ? event.progress.progress : event.kind);
  return seen;
}

describe("retrieveStream", () => {
  test("gives the progress of its own call in order, then the result", async () => {
    const server = await serve((call, response) => {
      open(response).write(": \n\n");
      response.write(progress(tokenOf(call), 0.2) + progress("another", 0.3));
      response.write(frame({ method: "notifications/log", params: { level: "info", message: "m" } }));
      response.end(progress(tokenOf(call), 0.6, "rerank") + result(call));
    });

    expect(await collect(client(server).retrieveStream({ query: "q" }))).toEqual([0.2, 0.6, "result"]);
    expect(server.calls[0]?.headers.accept).toContain("text/event-stream");
    expect(tokenOf(server.calls[0] as ReceivedCall)).toBe(server.calls[0]?.body.id);
  });

  test("gives progress while the server is still at work", async () => {
    const { promise: seen, resolve } = Promise.withResolvers<void>();
    const server = await serve(async (call, response) => {
      open(response).write(progress(tokenOf(call), 0.5));
      await seen; // would wait for ever, were the frame kept back until the answer
      response.end(result(call));
    });

    for await (const event of client(server).retrieveStream({ query: "q" })) if (event.kind === "progress") resolve();
    expect(server.calls).toHaveLength(1);
  });

  test("takes an answer that is not streamed", async () => {
    const server = await serve((call, response) => sendResult(call, response, { hits: [] }));

    expect(await collect(client(server).retrieveStream({ query: "q" }))).toEqual(["result"]);
  });

  test("fails as a call does, in a stream or before it", async () => {
    const server = await serve((call, response) => {
      if (server.calls.length === 1)
        open(response).end(frame({ id: call.body.id, error: { code: -32602, message: "m" } }));
      else sendError(call, response, -32602);
    });

    for (const rcp of [client(server), client(server)])
      await expect(collect(rcp.retrieveStream({ query: "q" }))).rejects.toMatchObject({ code: -32602 });
  });

  test("begins again when the stream is lost before the answer", async () => {
    const server = await serve((call, response) => {
      open(response).write(progress(tokenOf(call), 0.5));
      if (server.calls.length === 1) response.end();
      else response.end(result(call));
    });

    expect(await collect(client(server).retrieveStream({ query: "q" }))).toEqual([0.5, 0.5, "result"]);
  });

  test("ends the call when the loop is left", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const server = await serve((call, response) => {
      response.on("close", resolve);
      open(response).write(progress(tokenOf(call), 0.1));
    });

    for await (const _ of client(server).retrieveStream({ query: "q" })) break;

    await closed;
    expect(server.calls).toHaveLength(1);
  });

  test("a call without a stream asks for none", async () => {
    const server = await serve((call, response) => sendResult(call, response, { hits: [] }));

    await client(server).retrieve({ query: "q" });

    expect(server.calls[0]?.headers.accept).toBe("application/json");
    expect(server.calls[0]?.body.params).toEqual({ query: "q" });
  });
});
