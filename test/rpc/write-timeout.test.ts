import { afterAll, beforeAll, expect, test } from "vitest";
import type { Handler } from "../../src/methods/handler.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const tellTime: Handler = async (_params, call) => ({ leftMs: call.remainingMs() });

let server: RcpServer;
let token: string;
beforeAll(async () => {
  server = await startRcpServer({
    config: { auth: { combinedTokens: true }, server: { requestTimeoutMs: 20_000, writeTimeoutMs: 500_000 } },
    handlers: { retrieve: tellTime, "index/add": tellTime, "index/delete": tellTime },
  });
  token = await server.token({ credentials: ["read", "add", "delete"] });
});
afterAll(() => server.close());

const leftMs = async (method: string, params: object = {}) =>
  (await server.call(method, params, { token })).body?.result?.leftMs as number;

test("a write may run longer than a read, and neither longer than it asks for", async () => {
  expect(await leftMs("retrieve")).toBeLessThanOrEqual(20_000);
  for (const method of ["index/add", "index/delete"]) {
    const left = await leftMs(method);
    expect(left).toBeGreaterThan(400_000);
    expect(left).toBeLessThanOrEqual(500_000);
    expect(await leftMs(method, { _meta: { deadlineMs: 5_000 } })).toBeLessThanOrEqual(5_000);
  }
});
