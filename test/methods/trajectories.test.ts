import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { compile, noRows, type Sql, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";

/** What was shown in a trajectory is not shown again (RCP §7.7.3). */

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

const config = { indexing: { chunkTokens: 16, overlapTokens: 0 } };
const documents = Array.from({ length: 12 }, (_, n) => ({ id: `d${String(n).padStart(2, "0")}`, text: `apple ${n}` }));
const question = { query: "apple", mode: "dense", k: 4 };

async function filled(options: Parameters<typeof callerOf>[2] = {}) {
  const tenantId = freshTenant();
  const caller = callerOf(opened.database, tenantId, { config, ...options });
  await caller.add(documents);
  return { tenantId, caller };
}

const run = (statement: Sql) => opened.operator.write((transaction) => transaction.query(compile(statement, noRows)));
const kept = async (tenantId: TenantId) =>
  (
    await opened.operator.read(
      compile(
        sql`select count(*) as n from pgrcp_state.trajectories where tenant_id = ${tenantId}`,
        (row) => row.n as number,
      ),
    )
  )[0];

describe("a trajectory", () => {
  test("finds something new each time, until all was shown", async () => {
    const { caller } = await filled();
    const all = await caller.ids({ ...question, k: 12 });
    const inSession = { ...question, sessionId: "s" };
    const found = [
      await caller.ids(inSession),
      await caller.ids(inSession),
      await caller.ids({ ...inSession, query: "apple 3" }),
      await caller.ids(inSession),
    ];
    expect(found.slice(0, 2)).toEqual([all.slice(0, 4), all.slice(4, 8)]);
    expect(found.flat().sort()).toEqual(documents.map(({ id }) => id));
    expect(found[3]).toEqual([]);
  });

  test("goes on finding when it has seen more than candidateK", async () => {
    const { caller } = await filled();
    const narrow = { ...question, candidateK: 4, sessionId: "s" };
    const found = [await caller.ids(narrow), await caller.ids(narrow), await caller.ids(narrow)];
    expect(new Set(found.flat()).size).toBe(12);
  });

  test("is the caller's own, and one corpus's, and its name's", async () => {
    const { tenantId, caller } = await filled();
    const inSession = { ...question, sessionId: "s" };
    const first = await caller.ids(inSession);
    const others = [{ subject: "another" }, { client: "another" }, { issuer: "https://another.test" }];
    for (const principal of others)
      expect(await callerOf(opened.database, tenantId, { config, principal }).ids(inSession)).toEqual(first);
    const { caller: stranger } = await filled();
    expect(await stranger.ids(inSession)).toEqual(first);
    expect(await caller.ids({ ...inSession, sessionId: "S" })).toEqual(first);
    expect(await caller.ids(question)).toEqual(first);
    expect(await caller.ids(inSession)).not.toEqual(first);
  });

  test("shows a document that was written anew", async () => {
    const { caller } = await filled();
    const inSession = { ...question, k: 12, sessionId: "s" };
    await caller.ids(inSession);
    await caller.add([{ id: "d05", text: "apple five" }]);
    expect(await caller.ids(inSession)).toEqual(["d05"]);
  });

  test("remembers pages after the first, too", async () => {
    const { caller } = await filled();
    const inSession = { ...question, sessionId: "s" };
    const { hits, nextCursor } = await caller.retrieve(inSession);
    const second = await caller.ids({ ...inSession, cursor: nextCursor });
    const rest = await caller.ids({ ...inSession, k: 12 });
    expect([...hits.map(({ id }) => id), ...second, ...rest].sort()).toEqual(documents.map(({ id }) => id));
    expect(rest).toHaveLength(4);
  });

  test("does not count what did not fit into the budget as shown", async () => {
    const { caller } = await filled();
    const inSession = { ...question, sessionId: "s" };
    const first = await caller.ids({ ...inSession, tokenBudget: 4 });
    expect(first).toHaveLength(1);
    expect(await caller.ids({ ...inSession, k: 11 })).toHaveLength(11);
  });

  test("a whole document takes its chunks with it; a chunk leaves the whole document unseen", async () => {
    const caller = callerOf(opened.database, freshTenant(), { config });
    const long = { id: "long", text: "apple slate marble quartz plum. ".repeat(12) };
    await caller.add([long, { id: "short", text: "apple" }]);
    const question = { query: "apple", sessionId: "s", candidateK: 50 };
    const [chunk] = await caller.ids({ ...question, query: "apple slate marble", mode: "sparse", k: 1 });
    expect(chunk).toMatch(/^long#\d+$/);
    expect((await caller.ids({ ...question, unit: "document" })).sort()).toEqual(["long", "short"]);
    expect(await caller.ids({ ...question, mode: "dense", k: 50 })).toEqual([]);
  });

  test("is forgotten when it was idle for long, or another one needs its place", async () => {
    const retrieval = { trajectories: { idleTtlSeconds: 60, maxPerPrincipal: 2 } };
    const { tenantId, caller } = await filled({ config: { ...config, retrieval } });
    const first = await caller.ids({ ...question, sessionId: "a" });
    await caller.ids({ ...question, sessionId: "b" });
    await run(
      sql`update pgrcp_state.trajectories set expires_at = expires_at - interval '30 seconds' where tenant_id = ${tenantId}`,
    );
    await caller.ids({ ...question, sessionId: "a" });
    await caller.ids({ ...question, sessionId: "c" });
    expect(await kept(tenantId)).toBe(2);
    // b was unused for longest
    expect(await caller.ids({ ...question, sessionId: "a" })).not.toEqual(first);
    expect(await caller.ids({ ...question, sessionId: "b" })).toEqual(first);

    await run(sql`update pgrcp_state.trajectories set expires_at = now() where tenant_id = ${tenantId}`);
    expect(await caller.ids({ ...question, sessionId: "a" })).toEqual(first);
    expect(await kept(tenantId)).toBe(1);
  });

  test("is ignored where trajectories are off", async () => {
    const { tenantId, caller } = await filled({ config: { ...config, capabilities: { session: false } } });
    const inSession = { ...question, sessionId: "s" };
    expect(await caller.ids(inSession)).toEqual(await caller.ids(inSession));
    expect(await kept(tenantId)).toBe(0);
  });

  test("two retrieves at once leave nothing out", async () => {
    const { tenantId, caller } = await filled();
    await Promise.all(
      Array.from({ length: 6 }, (_, n) => caller.ids({ ...question, query: `apple ${n}`, k: 2, sessionId: "s" })),
    );
    const numbers = await opened.operator.read(
      compile(
        sql`select unnest(chunk_nos) as n from pgrcp_state.trajectories where tenant_id = ${tenantId}`,
        (row) => row.n as number,
      ),
    );
    expect(numbers.length).toBe(12);
  });
});
