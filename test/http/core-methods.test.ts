import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

let database: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startRcpServer({
    config: { filter: { fields: { year: "int", tags: "keyword[]" } }, retrieval: { maxK: 7 } },
    database: database.database,
  });
});
afterAll(async () => {
  await server.close();
  await database.close();
});

describe("RCP §7.1, initialize", () => {
  test("negotiates version 1, tells what is on offer and opens a session", async () => {
    const { body } = await server.call("initialize", { protocolVersion: 3, client: { name: "t", version: "1" } });

    expectValidSuccess("initialize", body);
    expect(body?.result).toEqual({
      protocolVersion: 1,
      server: { name: "pgrcp", version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
      // The whole set is test/catalog/advertise.test.ts's.
      capabilities: expect.objectContaining({
        retrieve: expect.objectContaining({ maxK: 7, modes: ["dense", "sparse", "hybrid"], defaultMode: "hybrid" }),
        filter: {
          fields: { year: "int", tags: "keyword" },
          operators: ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "exists"],
        },
        citations: {},
        pagination: {},
        session: { dedup: true, ttlSeconds: 3600 },
        streaming: {},
        index: { writable: false, chunking: true },
      }),
      _meta: { conformance: "L2", session: expect.stringMatching(/^[\w-]{43}$/) },
    });
  });

  test.each([
    ["protocolVersion", {}, -32602],
    ["protocolVersion", { protocolVersion: null }, -32602],
    ["protocolVersion", { protocolVersion: "1" }, -32602],
    ["protocolVersion", { protocolVersion: 1.5 }, -32602],
    ["protocolVersion", { protocolVersion: 2 ** 53 }, -32602],
    ["client", { protocolVersion: 1, client: "me" }, -32602],
    ["client.name", { protocolVersion: 1, client: {} }, -32602],
    ["client.name", { protocolVersion: 1, client: { name: "\ud800" } }, -32602],
    ["client.version", { protocolVersion: 1, client: { name: "t", version: 2 } }, -32602],
    ["capabilities", { protocolVersion: 1, capabilities: [] }, -32602],
    [undefined, { protocolVersion: 0 }, -32002],
    [undefined, { protocolVersion: -1 }, -32002],
  ])("names %s when params are %j", async (field, params, code) => {
    const { body } = await server.call("initialize", params);
    expectValidError(body);
    expect(body?.error?.code).toBe(code);
    expect(body?.error?.data?.field).toBe(field);
  });

  test("asks for no capability of the client and ignores what it does not know", async () => {
    const params = { protocolVersion: 1, client: null, capabilities: { streaming: {}, "x-acme": 1 }, extra: true };
    expectValidSuccess("initialize", (await server.call("initialize", params)).body);
  });
});

describe("RCP §7.2, info", () => {
  test("has initialize's shape and opens nothing", async () => {
    const { body } = await server.call("info");
    expectValidSuccess("info", body);
    expect(body?.result?._meta).toEqual({ conformance: "L2" });
  });

  test("tells a token that may add that the index is writable", async () => {
    const { body } = await server.call("info", {}, { token: await server.token({ credentials: ["add"] }) });
    expect(body?.result).toMatchObject({ capabilities: { index: { writable: true } } });
  });

  test("answers a token with an audience but no scope, and any corpus name", async () => {
    const token = await server.token({ scope: "" });
    expectValidSuccess("info", (await server.call("info", {}, { token })).body);
    expectValidSuccess("info", (await server.call("info", {}, { token, corpus: "no-such-corpus" })).body);
  });
});

describe("RCP §7.15, ping", () => {
  test.each([
    ["a", "a"],
    ["", ""],
    [0, 0],
    [0.5, 0.5],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])("echoes the nonce %j", async (nonce, echo) => {
    const { body } = await server.call("ping", { nonce });
    expectValidSuccess("ping", body);
    expect(body?.result).toEqual({ nonce: echo });
  });

  test.each([true, {}, [1], 2 ** 53, "\udc00"])("refuses the nonce %j, which it could not echo", async (nonce) => {
    const { body } = await server.call("ping", { nonce });
    expect(body?.error).toMatchObject({ code: -32602, data: { field: "nonce" } });
  });
});
