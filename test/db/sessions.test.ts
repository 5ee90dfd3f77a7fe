import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { type CreatedSession, DatabaseSessionStore } from "../../src/db/session-store.ts";
import { deleteExpiredSessions, lockOwner, type SessionOwner } from "../../src/sql/sessions.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";
import { limits, rows, run, tenant } from "./rows.ts";

const { admin, database, kind, operator, close } = await openTestDatabase();
afterAll(close);

let owners = 0;
/** Somebody that no other test knows. */
function newOwner(changes: Partial<SessionOwner> = {}): SessionOwner {
  owners += 1;
  return { tenantId: tenant(`s${owners}`), issuer: "iss", subject: "sub", client: "cli", ...changes };
}
const hash = (byte: number) => new Uint8Array(32).fill(byte);
const store = (settings: { idleTtlSeconds?: number; maxPerPrincipal?: number } = {}) =>
  new DatabaseSessionStore(database, { idleTtlSeconds: 60, maxPerPrincipal: 3, ...settings });

const age = (owner: SessionOwner, seconds: number) =>
  operator.write((transaction) =>
    transaction.query(
      run(
        sql`update pgrcp_state.sessions set expires_at = expires_at - make_interval(secs => ${seconds}::float8) where tenant_id = ${owner.tenantId}`,
      ),
    ),
  );
const remaining = async (owner: SessionOwner) =>
  await operator.read(
    compile(
      sql`select extract(epoch from expires_at - now())::float8 as seconds from pgrcp_state.sessions where tenant_id = ${owner.tenantId}`,
      (row) => row.seconds as number,
    ),
  );

const AGREED = { capabilities: "{}", logLevel: undefined };

test("a session gives back the capabilities it was given", async () => {
  const owner = newOwner();

  expect(await store().create(owner, hash(1), { capabilities: '{"a":1}', logLevel: "notice" }, limits())).toEqual({
    kind: "created",
  });

  expect(await store().touch(owner, hash(1), limits())).toEqual({ capabilities: '{"a":1}', logLevel: "notice" });
});

test.each([
  ["tenant", { tenantId: tenant("other") }],
  ["issuer", { issuer: "other" }],
  ["subject", { subject: "other" }],
  ["client", { client: "other" }],
])("a session of another %s is not found, and cannot be ended", async (_, changes) => {
  const owner = newOwner();
  await store().create(owner, hash(1), AGREED, limits());
  const other = { ...owner, ...changes };

  expect(await store().touch(other, hash(1), limits())).toBeUndefined();
  await store().end(other, hash(1), limits());

  expect(await store().touch(owner, hash(1), limits())).toEqual(AGREED);
});

test("a session that was ended is not found", async () => {
  const owner = newOwner();
  await store().create(owner, hash(1), AGREED, limits());

  await store().end(owner, hash(1), limits());

  expect(await store().touch(owner, hash(1), limits())).toBeUndefined();
});

test("an idle session expires", async () => {
  const owner = newOwner();
  await store().create(owner, hash(1), AGREED, limits());

  await age(owner, 61);

  expect(await store().touch(owner, hash(1), limits())).toBeUndefined();
});

test("a use starts the idle time anew", async () => {
  const owner = newOwner();
  await store().create(owner, hash(1), AGREED, limits());
  await age(owner, 50);

  await store().touch(owner, hash(1), limits());

  const [seconds] = await remaining(owner);
  expect(seconds).toBeGreaterThan(50);
  expect(seconds).toBeLessThanOrEqual(60);
});

test("a use within a tenth of the idle time writes nothing", async () => {
  const owner = newOwner();
  await store().create(owner, hash(1), AGREED, limits());
  const xmin = rows(sql`select xmin::text as version from pgrcp_state.sessions where tenant_id = ${owner.tenantId}`);
  const before = await operator.read(xmin);

  await store().touch(owner, hash(1), limits());

  expect(await operator.read(xmin)).toEqual(before);
});

test("an owner has at most so many sessions, and is told when the next expires", async () => {
  const owner = newOwner();
  for (const byte of [1, 2, 3]) await store().create(owner, hash(byte), AGREED, limits());

  const outcome = await store().create(owner, hash(4), AGREED, limits());

  expect(outcome).toEqual({ kind: "full", retryAfterMs: expect.any(Number) });
  const wait = outcome.kind === "full" ? outcome.retryAfterMs : 0;
  expect(wait).toBeGreaterThan(40_000);
  expect(wait).toBeLessThanOrEqual(60_000);
});

test("the cap is each owner's own, and expired sessions do not count", async () => {
  const owner = newOwner();
  for (const byte of [1, 2, 3]) await store().create(owner, hash(byte), AGREED, limits());
  const other = { ...owner, client: "other" };

  expect(await store().create(other, hash(5), AGREED, limits())).toEqual({ kind: "created" });
  await age(owner, 61);
  expect(await store().create(owner, hash(6), AGREED, limits())).toEqual({ kind: "created" });
});

test("of thirty initialize calls at once, as many succeed as the cap allows", async () => {
  const owner = newOwner();

  const outcomes = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      store({ maxPerPrincipal: 7 }).create(owner, hash(index), AGREED, limits(60_000)),
    ),
  );

  expect(outcomes.filter(({ kind }) => kind === "created")).toHaveLength(7);
});

// One connection cannot wait for itself.
const onPostgres = () =>
  test("an initialize waits for one of the same owner that has not committed yet, and counts it", async () => {
    const owner = newOwner();
    const { tenantId, issuer, subject, client } = owner;
    let creating: Promise<CreatedSession> | undefined;

    await admin.transaction(async (transaction) => {
      await transaction.query(lockOwner(owner));
      await transaction.query(
        run(sql`insert into pgrcp_state.sessions (tenant_id, session_hash, issuer, subject, client, capabilities, expires_at)
values (${tenantId}, ${hash(1)}::bytea, ${issuer}, ${subject}, ${client}, '{}', now() + interval '1 hour')`),
      );
      creating = store({ maxPerPrincipal: 1 }).create(owner, hash(2), AGREED, limits());
      await expect(Promise.race([creating, sleep(200, "waits")])).resolves.toBe("waits");
    });

    expect(await creating).toMatchObject({ kind: "full" });
  });
if (kind === "postgres") onPostgres();

test("expired sessions of all tenants go when the operator says so", async () => {
  const [expired, live] = [newOwner(), newOwner()];
  for (const owner of [expired, live]) await store().create(owner, hash(1), AGREED, limits());
  await age(expired, 61);

  await operator.write((transaction) => transaction.query(deleteExpiredSessions(undefined)));

  expect([await remaining(expired), (await remaining(live)).length]).toEqual([[], 1]);
});
