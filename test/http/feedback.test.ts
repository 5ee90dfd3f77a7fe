import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { DEFAULT_CORPUS, type TenantId } from "../../src/catalog/corpus.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { insertFeedback, lockFeedback } from "../../src/sql/feedback.ts";
import { compile, type Sql, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

let issuer: TestIssuer;
let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  issuer = await testIssuer();
  db = await openTestDatabase();
  server = await serve({});
});
afterAll(async () => {
  await server.close();
  await db.close();
});

const serve = (config: Readonly<Record<string, unknown>>) =>
  startRcpServer({
    issuer,
    config: { ...config, auth: { combinedTokens: true }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });

let tenants = 0;
async function caller() {
  const tenant = `feedback-${tenants++}`;
  const token = await issuer.mint({ tenant, credentials: CREDENTIALS });
  return {
    tenant,
    token,
    send: (params: object, to = server) => to.call("feedback", params, { token }),
    rows: () => rowsOf(tenant),
  };
}

const admin = (statement: Sql) => db.admin.query(compile(statement, (row) => row));
const rowsOf = (tenant: string) =>
  admin(sql`select corpus, issuer, subject, client, session_hash is not null as in_session, query, hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected
from pgrcp_state.feedback where tenant_id = ${tenant} order by received_at, place`);

const WHO = { corpus: "default", issuer: "https://issuer.test", subject: "alice", client: "agent" };
const OF_ALICE = {
  issuer: WHO.issuer,
  subject: WHO.subject,
  client: WHO.client,
  corpus: DEFAULT_CORPUS,
  sessionHash: null,
  query: null,
};
const FIRST = {
  ...{ hitId: "first", used: undefined, cited: undefined, helpful: undefined, reward: undefined },
  ...{ poisonSuspected: undefined, injectionSuspected: undefined },
};
const SAID = {
  used: null,
  cited: null,
  helpful: null,
  reward: null,
  poison_suspected: null,
  injection_suspected: null,
};

describe("RCP §7.16, feedback", () => {
  test("keeps each signal with who gave it and says how many it kept", async () => {
    const { send, rows } = await caller();
    const signals = [
      { hitId: "a#3", used: true, cited: false, helpful: true, reward: 0.8 },
      { hitId: "b", poisonSuspected: true, injectionSuspected: false, reward: -1 },
      { hitId: "of nobody" },
    ];

    const answer = await send({ sessionId: "loop-1", signals });

    expectValidSuccess("feedback", answer.body);
    expect(answer.body?.result).toEqual({ accepted: 3 });
    const common = { ...WHO, in_session: true, query: null, ...SAID };
    expect(await rows()).toEqual([
      { ...common, hit_id: "a#3", used: true, cited: false, helpful: true, reward: 0.8 },
      { ...common, hit_id: "b", poison_suspected: true, injection_suspected: false, reward: -1 },
      { ...common, hit_id: "of nobody" },
    ]);
  });

  test("keeps nothing of the query and no sessionId in clear, unless queries are to be kept", async () => {
    const keeping = await serve({ feedback: { storeQueries: true } });
    const { tenant, send, rows } = await caller();
    const params = {
      sessionId: "private session",
      query: "a private question",
      signals: [{ hitId: "a" }, { hitId: "b" }],
    };

    await send(params);
    const raw = await admin(sql`select to_jsonb(f) as row from pgrcp_state.feedback f where tenant_id = ${tenant}`);
    expect(raw).toHaveLength(2);
    expect(JSON.stringify(raw)).not.toContain("private");

    await send(params, keeping);
    expect((await rows()).map((row) => row.query)).toEqual([null, null, "a private question", null]);
    await keeping.close();
  });

  test("accepts what fits into the tenant's room and says that the rest did not", async () => {
    const narrow = await serve({ feedback: { maxSignalsPerTenant: 3 } });
    const [{ send, rows }, other] = [await caller(), await caller()];
    const signals = [{ hitId: "a" }, { hitId: "b" }];

    expect((await send({ signals }, narrow)).body?.result).toEqual({ accepted: 2 });
    const second = await send({ signals }, narrow);
    const third = await send({ signals }, narrow);

    expectValidSuccess("feedback", second.body);
    const notes = ["no room for more feedback (feedback.maxSignalsPerPrincipal, feedback.maxSignalsPerTenant)"];
    expect(second.body?.result).toEqual({ accepted: 1, _meta: { notes } });
    expect(third.body?.result).toEqual({ accepted: 0, _meta: { notes } });
    expect((await rows()).map((row) => row.hit_id)).toEqual(["a", "b", "a"]);
    expect((await other.send({ signals }, narrow)).body?.result).toEqual({ accepted: 2 });
    await narrow.close();
  });

  test("a caller has a share of the room, and the others have the rest", async () => {
    const narrow = await serve({ feedback: { maxSignalsPerTenant: 4, maxSignalsPerPrincipal: 3 } });
    const { tenant, send } = await caller();
    const bob = await issuer.mint({ tenant, subject: "bob", credentials: CREDENTIALS });
    const say = async (token: string) =>
      (await narrow.call("feedback", { signals: [{ hitId: "a" }, { hitId: "b" }] }, { token })).body?.result?.accepted;

    expect((await send({ signals: [{ hitId: "a" }, { hitId: "b" }] }, narrow)).body?.result).toEqual({ accepted: 2 });
    expect((await send({ signals: [{ hitId: "a" }, { hitId: "b" }] }, narrow)).body?.result?.accepted).toBe(1);

    expect([await say(bob), await say(bob)]).toEqual([1, 0]);
    await narrow.close();
  });

  test("counts what another call is keeping at this moment, by waiting for it", async () => {
    const narrow = await serve({ feedback: { maxSignalsPerPrincipal: 2 } });
    const { tenant, send, rows } = await caller();
    const call = { tenantId: tenant as TenantId, ...OF_ALICE, callId: randomUUID() };
    const room = { retentionDays: 1, maxSignalsPerTenant: 9, maxSignalsPerPrincipal: 2 };
    let answer: ReturnType<typeof send> | undefined;

    await db.admin.transaction(async (transaction) => {
      await transaction.query(lockFeedback(call.tenantId));
      await transaction.query(insertFeedback(call, [FIRST], room));
      answer = send({ signals: [{ hitId: "a" }, { hitId: "b" }] }, narrow);
      await Promise.race([answer, pause(300)]);
    });

    expect((await answer)?.body?.result).toMatchObject({ accepted: 1 });
    expect((await rows()).map((row) => row.hit_id)).toEqual(["first", "a"]);
    await narrow.close();
  });

  test("makes room by removing what is older than its time, of the tenant alone", async () => {
    const narrow = await serve({ feedback: { maxSignalsPerTenant: 1, retentionDays: 2 } });
    const [{ tenant, send, rows }, other] = [await caller(), await caller()];
    await send({ signals: [{ hitId: "old" }] }, narrow);
    await other.send({ signals: [{ hitId: "old" }] }, narrow);
    const age = (days: number) =>
      admin(
        sql`update pgrcp_state.feedback set expires_at = expires_at - make_interval(days => ${days}::int) where tenant_id in (${tenant}, ${other.tenant})`,
      );

    await age(1);
    expect((await send({ signals: [{ hitId: "new" }] }, narrow)).body?.result).toMatchObject({ accepted: 0 });
    await age(2);
    expect((await send({ signals: [{ hitId: "new" }] }, narrow)).body?.result).toEqual({ accepted: 1 });

    expect((await rows()).map((row) => row.hit_id)).toEqual(["new"]);
    expect(await other.rows()).toHaveLength(1);
    await narrow.close();
  });

  test("changes no answer of retrieve, whatever it says", async () => {
    const { token, send } = await caller();
    await server.call("index/add", { documents: ["a", "b"].map((id) => ({ id, text: `amber ${id}` })) }, { token });
    const ask = async () => {
      const { body } = await server.call("retrieve", { query: "amber", k: 5 }, { token });
      return [body?.result?.hits, body?.result?.indexVersion];
    };
    const before = await ask();

    const signals = ["a#0", "a", "b"].map((hitId) => ({ hitId, poisonSuspected: true, helpful: false, reward: -1 }));
    expect((await send({ signals })).body?.result).toEqual({ accepted: 3 });

    expect(await ask()).toEqual(before);
  });

  test("writes nothing of a call with one bad signal", async () => {
    const { send, rows } = await caller();

    const refused = await send({ signals: [{ hitId: "a" }, { hitId: "b", reward: 2 }] });

    expectValidError(refused.body);
    expect(refused.body?.error).toMatchObject({ code: -32602, data: { field: "signals[1].reward" } });
    expect(await rows()).toEqual([]);
    expect((await send({ signals: [] })).body?.result).toEqual({ accepted: 0 });
  });

  test("is refused for an unknown corpus, without the read credential, and where it is switched off", async () => {
    const without = await serve({ capabilities: { feedback: false } });
    const { tenant, token, send } = await caller();
    const adder = await issuer.mint({ tenant, credentials: ["add"] });
    const params = { signals: [{ hitId: "a" }] };

    expect((await server.call("feedback", params, { token, corpus: "nowhere" })).body?.error?.code).toBe(-32012);
    expect((await server.call("feedback", params, { token: adder })).body?.error?.code).toBe(-32012);
    expect((await send(params, without)).body?.error?.code).toBe(-32003);
    await without.close();
  });
});
