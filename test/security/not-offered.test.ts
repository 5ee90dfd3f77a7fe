import { afterAll, beforeAll, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

let server: RcpServer;
beforeAll(async () => {
  server = await startRcpServer({ config: { capabilities: { catalog: false } } });
});
afterAll(() => server.close());

test("§15.5 graph is not offered, so no number of hops is walked", async () => {
  for (const hops of [1, 1_000_000]) {
    const { body } = await server.call("graph", { op: "neighbors", nodes: ["a"], hops });
    expect(body?.error?.code).toBe(-32003);
  }
  const { body } = await server.call("info");
  expect(body?.result?.capabilities).not.toHaveProperty("graph");
});
