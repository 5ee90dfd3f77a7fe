import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

const NO_SESSION = { id: 1, error: { code: -32001 } };
const QUERY = { query: "x" };

let database: TestDatabase;
let optional: RcpServer;
let required: RcpServer;
beforeAll(async () => {
  database = await openTestDatabase();
  optional = await serve({});
  required = await serve({ sessions: { mode: "required" } });
});
afterAll(async () => {
  await Promise.all([optional.close(), required.close()]);
  await database.close();
});

const serve = (config: Readonly<Record<string, unknown>>) => startRcpServer({ config, database: database.database });

/** Tokens are a server's own, so a session is asked for and used on the same one. */
async function opened(server: RcpServer, claims: Parameters<RcpServer["token"]>[0] = {}) {
  const token = await server.token(claims);
  return { token, session: await server.initialize(token) };
}

/** Lets time pass for a tenant's sessions, without waiting: they expire that much sooner. */
const letPass = (seconds: number, tenant: string) =>
  database.operator.write((transaction) =>
    transaction.query(
      compile(
        sql`update pgrcp_state.sessions set expires_at = expires_at - make_interval(secs => ${seconds}::float8) where tenant_id = ${tenant}`,
        noRows,
      ),
    ),
  );

describe("RCP §13, a session", () => {
  test("is issued by initialize and lets gated calls through where sessions are required", async () => {
    const { token, session } = await opened(required);

    expect(session).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect((await required.call("retrieve", QUERY, { token })).body).toMatchObject(NO_SESSION);
    const answer = await required.call("retrieve", QUERY, { token, session });
    expectValidSuccess("retrieve", answer.body);
  });

  test("is not needed by initialize, info, ping and shutdown", async () => {
    const token = await required.token();
    expectValidSuccess("info", (await required.call("info", {}, { token })).body);
    expectValidSuccess("ping", (await required.call("ping", {}, { token })).body);
    expectValidSuccess("shutdown", (await required.call("shutdown", {}, { token })).body);
  });

  test("is implied where sessions are optional, but one that is named must be live", async () => {
    const token = await optional.token();
    const unknown = "A".repeat(43);

    expectValidSuccess("retrieve", (await optional.call("retrieve", QUERY, { token })).body);
    for (const session of [unknown, "", "short", `${unknown}A`, "'; drop table x"]) {
      const answer = await optional.call("retrieve", QUERY, { token, session });
      expectValidError(answer.body);
      expect(answer.body).toMatchObject(NO_SESSION);
    }
  });

  test("comes before the question whether a method exists or is in scope", async () => {
    const token = await required.token();
    expect((await required.call("no/such", {}, { token })).body).toMatchObject(NO_SESSION);
    expect((await required.call("index/add", {}, { token })).body).toMatchObject(NO_SESSION);
  });

  test.each([
    ["tenant", { tenant: "globex" }],
    ["subject", { subject: "bob" }],
    ["client", { client: "other" }],
  ])("of another %s is answered like an unknown one", async (_name, claims) => {
    const { token, session } = await opened(optional);
    const other = await optional.token(claims);

    const stolen = await optional.call("retrieve", QUERY, { token: other, session });
    const unknown = await optional.call("retrieve", QUERY, { token: other, session: "A".repeat(43) });

    expect(stolen.body).toMatchObject(NO_SESSION);
    expect(stolen.text).toBe(unknown.text);
    expectValidSuccess("retrieve", (await optional.call("retrieve", QUERY, { token, session })).body);
  });

  test("stays with its owner over a new token", async () => {
    const { session } = await opened(optional);
    const answer = await optional.call("retrieve", QUERY, { token: await optional.token(), session });
    expectValidSuccess("retrieve", answer.body);
  });

  test("is not found by two headers, even when they are equal", async () => {
    const { token, session } = await opened(optional);
    const answer = await optional.send({
      path: "/rcp/retrieve",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve", params: QUERY }),
      headers: [
        ["authorization", `Bearer ${token}`],
        ["content-type", "application/json"],
        ["rcp-session", session],
        ["rcp-session", session],
      ],
    });
    expect(answer.body).toMatchObject(NO_SESSION);
  });

  test("refuses a second initialize, whatever its params", async () => {
    const { token, session } = await opened(optional);
    const answer = await optional.call("initialize", {}, { token, session });
    expectValidError(answer.body);
    expect(answer.body).toMatchObject({ id: 1, error: { code: -32600 } });
  });

  test("is not opened by an initialize that fails, which may be repeated", async () => {
    const token = await required.token();
    const failed = await required.call("initialize", { protocolVersion: 0 }, { token });
    expect(failed.body).toMatchObject({ error: { code: -32002 } });
    expect(failed.text).not.toContain("session");
    expectValidSuccess("initialize", (await required.call("initialize", { protocolVersion: 7 }, { token })).body);
  });

  test("is over after shutdown, and the server is not", async () => {
    const { token, session } = await opened(optional);

    expect((await optional.call("shutdown", {}, { token, session })).body?.result).toEqual({});

    expect((await optional.call("retrieve", QUERY, { token, session })).body).toMatchObject(NO_SESSION);
    expectValidSuccess(
      "initialize",
      (await optional.call("initialize", { protocolVersion: 1 }, { token, session })).body,
    );
  });

  test("is not ended by another caller's shutdown, which succeeds", async () => {
    const { token, session } = await opened(optional);
    const other = await optional.token({ tenant: "globex" });

    expect((await optional.call("shutdown", {}, { token: other, session })).body?.result).toEqual({});
    expectValidSuccess("retrieve", (await optional.call("retrieve", QUERY, { token, session })).body);
  });

  test("is over when it was idle too long, and is kept by use", async () => {
    const server = await serve({ sessions: { idleTtlSeconds: 1_000 } });
    const claims = { tenant: "sleepy" };
    const { token, session } = await opened(server, claims);
    const idle = await server.initialize(token);
    for (let use = 0; use < 3; use++) {
      await letPass(400, claims.tenant);
      expectValidSuccess("retrieve", (await server.call("retrieve", QUERY, { token, session })).body);
    }

    expect((await server.call("retrieve", QUERY, { token, session: idle })).body).toMatchObject(NO_SESSION);
    await letPass(1_000, claims.tenant);
    expect((await server.call("retrieve", QUERY, { token, session })).body).toMatchObject(NO_SESSION);
    await server.close();
  });

  test("is over when the running configuration no longer offers what it was given", async () => {
    const before = await serve({});
    const { token, session } = await opened(before);
    const claims = { issuer: before.issuer };
    const after = await startRcpServer({
      ...claims,
      config: { capabilities: { modes: ["dense"] }, retrieval: { defaultMode: "dense" } },
      database: database.database,
    });
    const alike = await startRcpServer({ ...claims, database: database.database });

    expectValidSuccess("retrieve", (await alike.call("retrieve", QUERY, { token, session })).body);
    expect((await after.call("retrieve", QUERY, { token, session })).body).toMatchObject(NO_SESSION);
    expect((await before.call("retrieve", QUERY, { token, session })).body).toMatchObject(NO_SESSION);
    await Promise.all([before.close(), after.close(), alike.close()]);
  });

  test("shows info the set it was given, and outlives a change of token", async () => {
    const { token: adder, session } = await opened(optional, { credentials: ["add"] });
    const reader = await optional.token();

    const inside = await optional.call("info", {}, { token: reader, session });
    const outside = await optional.call("info", {}, { token: reader });

    expect(inside.body?.result?.capabilities).toMatchObject({ index: { writable: true } });
    expect(outside.body?.result?.capabilities).toMatchObject({ index: { writable: false } });
    expectValidSuccess("ping", (await optional.call("ping", {}, { token: adder, session })).body);
  });

  test("is refused with -32011 and a wait when the owner has as many as allowed; others are not touched", async () => {
    const server = await serve({ sessions: { maxPerPrincipal: 2, idleTtlSeconds: 1_000 } });
    const token = await server.token({ tenant: "crowded" });
    const [first] = [await server.initialize(token), await server.initialize(token)];

    const third = await server.call("initialize", { protocolVersion: 1 }, { token });
    expectValidError(third.body);
    expect(third).toMatchObject({ status: 200, body: { id: 1, error: { code: -32011, data: { retryable: true } } } });
    const wait = Number(third.body?.error?.data?.retryAfterMs);
    expect(wait).toBeGreaterThan(900_000);
    expect(wait).toBeLessThanOrEqual(1_000_000);

    const other = await server.token({ tenant: "crowded", subject: "bob" });
    expectValidSuccess("initialize", (await server.call("initialize", { protocolVersion: 1 }, { token: other })).body);
    await server.call("shutdown", {}, { token, ...(first !== undefined && { session: first }) });
    expectValidSuccess("initialize", (await server.call("initialize", { protocolVersion: 1 }, { token })).body);
    await server.close();
  });

  test("is stored as a hash: its token is in no column", async () => {
    const { session } = await opened(optional);
    const rows = await database.admin.query(
      compile(sql`select to_jsonb(s) as row from pgrcp_state.sessions s`, (row) => row.row),
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(session);
  });
});

describe("RCP §17.1, a session's log level", () => {
  /** What an info in a session opened like this is told besides its answer. */
  async function toldIn(opening: object) {
    const token = await optional.token();
    const { body } = await optional.call("initialize", { protocolVersion: 1, ...opening }, { token });
    const answer = await optional.send({
      path: "/rcp/info",
      headers: [
        ["authorization", `Bearer ${token}`],
        ["content-type", "application/json"],
        ["accept", "text/event-stream"],
        ["rcp-session", String(body?.result?._meta?.session)],
      ],
      body: '{"jsonrpc":"2.0","id":1,"method":"info"}',
    });
    const frames = answer.text
      .split("\n\n")
      .slice(0, -1)
      .map((event) => JSON.parse(event.slice(6)));
    expect(frames.at(-1)).toMatchObject({ id: 1, result: {} });
    return frames.slice(0, -1).map(({ params }) => params.level);
  }

  test("is that of its initialize, for a client that renders log lines", async () => {
    expect(await toldIn({ capabilities: { log: {} }, _meta: { logLevel: "debug" } })).toEqual(["info"]);
    expect(await toldIn({ capabilities: { log: {} } })).toEqual(["info"]);
    expect(await toldIn({ capabilities: { log: {} }, _meta: { logLevel: "warning" } })).toEqual([]);
  });

  test.each([
    ["no capability", { _meta: { logLevel: "debug" } }],
    ["another capability", { capabilities: { streaming: {} }, _meta: { logLevel: "debug" } }],
    ["a capability of the wrong type", { capabilities: { log: true }, _meta: { logLevel: "debug" } }],
  ])("is none with %s", async (_what, opening) => {
    expect(await toldIn(opening)).toEqual([]);
  });
});
