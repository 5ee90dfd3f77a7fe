import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Handler } from "../../src/methods/handler.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { PLAN_ONLY_HANDLERS } from "../support/plan-only-handlers.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** Runs until the test lets it finish. */
let started = Promise.withResolvers<void>();
let finish = Promise.withResolvers<object>();
const slow: Handler = () => {
  started.resolve();
  return finish.promise;
};

let database: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startRcpServer({ handlers: { ...PLAN_ONLY_HANDLERS, retrieve: slow }, database: database.database });
});
beforeEach(() => {
  started = Promise.withResolvers();
  finish = Promise.withResolvers();
});
afterAll(async () => {
  await server.close();
  await database.close();
});

const cancelOf = (id: unknown) => JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancel", params: { id } });

describe("RCP §7.14, notifications/cancel", () => {
  test("ends a call of the same session with -32006, and is answered 204", async () => {
    const token = await server.token();
    const session = await server.initialize(token);
    const running = server.call("retrieve", {}, { token, session, id: 7 });
    await started.promise;

    const cancel = await server.post("/rcp/notifications/cancel", cancelOf(7), { token, session });

    expect(cancel).toMatchObject({ status: 204, text: "" });
    expect(await running).toMatchObject({ status: 200, body: { id: 7, error: { code: -32006 } } });
  });

  test("leaves alone what it does not name whole: another id, type of id, session, tenant, or no session", async () => {
    const token = await server.token();
    const session = await server.initialize(token);
    const foreign = await server.token({ tenant: "globex" });
    const running = server.call("retrieve", {}, { token, session, id: 7 });
    await started.promise;

    for (const [id, caller] of [
      [8, { token, session }],
      ["7", { token, session }],
      [7, { token, session: await server.initialize(token) }],
      [7, { token }],
      [7, { token: foreign, session }],
      [null, { token, session }],
    ] as const)
      expect((await server.post("/rcp/notifications/cancel", cancelOf(id), caller)).status).toBe(204);

    finish.resolve({ hits: [] });
    expect(await running).toMatchObject({ body: { id: 7, result: { hits: [] } } });
  });
});
