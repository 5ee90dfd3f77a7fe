import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import type { Database } from "../../src/db/database.ts";
import { RefusalLog } from "../../src/db/refusal-log.ts";
import { listAudit } from "../../src/maintenance/audit.ts";
import { collect } from "../../src/maintenance/collect.ts";
import { createCorpus } from "../../src/maintenance/corpora.ts";
import { purgeDocuments } from "../../src/maintenance/purge.ts";
import { restoreSource, revokeSource } from "../../src/maintenance/sources.ts";
import { createTenant } from "../../src/maintenance/tenants.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { PlainError } from "../../src/protocol/failure.ts";
import { compile, type Sql, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { NO_DATABASE } from "../support/no-database.ts";
import { startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

/** Who wrote, was refused, revoked and purged is kept; what it was about is not. */

let issuer: TestIssuer;
let db: TestDatabase;
beforeAll(async () => {
  issuer = await testIssuer();
  db = await openTestDatabase();
});
afterAll(() => db.close());

let tenants = 0;
const freshTenant = () => `audited-${tenants++}`;
const audit = (tenant: string, since = "2000-01-01T00:00:00Z") =>
  Array.fromAsync(listAudit(db.operator, tenant, since));
const asOwner = (statement: Sql) => db.admin.query(compile(statement, (row) => row));

const serve = () =>
  startRcpServer({
    issuer,
    config: { rateLimit: { enabled: false }, auth: { corporaClaim: "corpora" } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });

/** The id of a token. */
const idOf = (token: string) => decodeJwt(token).jti;

const refusal = (tenantId: string, subject: string, method = "index/add") => ({
  tenantId: tenantId as TenantId,
  ...{ issuer: "https://issuer.test", subject, client: "agent", method },
  tokenId: "jti-1",
  corpus: "default",
  detail: undefined,
});

describe("the audit record", () => {
  test("has every write with who, what, how much and the version it made, and nothing of its content", async () => {
    const tenant = freshTenant();
    const server = await serve();
    const adder = await issuer.mint({ tenant, credentials: ["add"], corpora: "*" });
    const deleter = await issuer.mint({ tenant, credentials: ["delete"], corpora: "*" });
    const documents = [
      { id: "id-of-a-person", text: "a secret text", meta: { ssn: "078-05-1120" } },
      { id: "b", text: "more" },
    ];
    expect((await server.call("index/add", { documents }, { token: adder })).body?.error).toBeUndefined();
    await server.call("index/delete", { ids: ["id-of-a-person", "unknown"] }, { token: deleter });
    await server.close();

    const rows = await audit(tenant);

    expect(rows).toMatchObject([
      { action: "add", corpus: "default", version: 1, count: 2, subject: "alice", tokenId: idOf(adder), method: null },
      { action: "delete", corpus: "default", version: 2, count: 1, subject: "alice" },
    ]);
    expect(rows[0]?.issuer).toBe(issuer.issuer);
    expect(JSON.stringify(rows)).not.toMatch(/secret|person|078/);
  });

  test("has what an operator did to tenants, corpora, sources and documents, and what retention withdrew", async () => {
    const tenant = freshTenant();
    const { operator, config } = db;
    const model = testEmbeddingModel();
    await createTenant(operator, config, tenant);
    await createTenant(operator, config, tenant);
    await createCorpus(operator, config, { tenant, corpus: "default" }, async () => model.space);
    const server = await serve();
    const token = await issuer.mint({ tenant, credentials: ["add"], corpora: "*" });
    for (const text of ["one", "two"]) await server.call("index/add", { documents: [{ id: "a", text }] }, { token });
    await server.close();
    await asOwner(
      sql`update pgrcp.corpus_versions set committed_at = now() - interval '3 hours' where tenant_id = ${tenant}`,
    );
    await Array.fromAsync(collect(operator, { versionHours: 2, auditDays: 365 }));
    await Array.fromAsync(revokeSource(operator, tenant, "api"));
    await Array.fromAsync(restoreSource(operator, tenant, "api"));
    await purgeDocuments(operator, { tenant, corpus: "default" }, ["a"]);

    const rows = (await audit(tenant)).map(({ action, version, count, detail }) => [action, version, count, detail]);

    expect(rows).toEqual([
      ["add", 1, 1, null],
      ["add", 2, 1, null],
      ["create-tenant", null, 1, null],
      ["create-corpus", null, 1, null],
      ["withdraw", 2, 1, null],
      ["revoke", null, 1, "api"],
      ["revoke", 3, 1, null],
      ["restore", null, 1, "api"],
      ["restore", 4, 1, null],
      ["purge", 5, 1, null],
    ]);
  });

  test("has each call that a good token was refused, and nothing of a token that is not good", async () => {
    const [tenant, victim] = [freshTenant(), freshTenant()];
    const server = await serve();
    const reader = await issuer.mint({ tenant, credentials: ["read"], corpora: "docs" });
    const forged = await (await testIssuer()).mint({ tenant: victim, credentials: CREDENTIALS });
    for (let call = 0; call < 3; call += 1) {
      const refused = await server.call("index/add", { documents: [] }, { token: reader, corpus: "docs" });
      expect(refused.body?.error?.code).toBe(-32012);
    }
    await server.call("retrieve", { query: "a private question" }, { token: reader, corpus: "payroll" });
    expect((await server.call("retrieve", { query: "x" }, { token: forged })).status).toBe(401);
    await server.close();

    const rows = await audit(tenant);

    const who = { action: "refuse", subject: "alice", client: "agent", tokenId: idOf(reader), version: null };
    expect(rows).toMatchObject([
      { ...who, method: "index/add", corpus: "docs", count: 1 },
      { ...who, method: "retrieve", corpus: "payroll", count: 1, detail: null },
      { ...who, method: "index/add", corpus: "docs", count: 2 },
    ]);
    expect(rows[0]?.detail).toMatch(/^index\/add needs the add credential/);
    await expect(audit(victim)).rejects.toThrow("there is no such tenant");
    expect(JSON.stringify(rows)).not.toContain("private");
  });

  test("is of one tenant, and begins when it is asked to", async () => {
    const [mine, other] = [freshTenant(), freshTenant()];
    for (const tenant of [mine, other]) await createTenant(db.operator, db.config, tenant);

    expect(await audit(mine)).toHaveLength(1);
    expect(await audit(mine, "2999-01-01T00:00:00Z")).toEqual([]);
  });
});

describe("refusals", () => {
  test("of one caller are two records a period, however many there are", async () => {
    const tenant = freshTenant();
    const log = new RefusalLog(db.database, () => {});
    for (let call = 0; call < 10_000; call += 1) log.add(refusal(tenant, "mallory"));
    await log.close();

    expect((await audit(tenant)).map((row) => [row.subject, row.count])).toEqual([
      ["mallory", 1],
      ["mallory", 9_999],
    ]);
  });

  test("of many callers are counted together after the first fifty, and none is missing", async () => {
    const [tenant, other] = [freshTenant(), freshTenant()];
    const log = new RefusalLog(db.database, () => {});
    for (let call = 0; call < 1_000; call += 1) log.add(refusal(tenant, `caller-${call}`));
    log.add(refusal(other, "bystander"));
    await log.close();

    const rows = await audit(tenant);
    expect(rows).toHaveLength(52);
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(1_000);
    expect(rows.filter((row) => row.subject === "several").map((row) => row.count)).toEqual([1, 949]);
    expect(await audit(other)).toMatchObject([{ subject: "bystander", count: 1 }]);
  });

  test("that cannot be written are in the log, and nobody is kept waiting", async () => {
    const observations: Observation[] = [];
    const broken: Database = { ...NO_DATABASE, read: () => Promise.reject(new Error("away")) };
    const log = new RefusalLog(broken, (observation) => observations.push(observation));
    log.add(refusal("acme", "alice"));
    log.add(refusal("acme", "alice"));
    await log.close();

    expect(observations).toMatchObject([
      { kind: "audit-failed", tenant: "acme", refusals: 1 },
      { kind: "audit-failed", tenant: "acme", refusals: 1 },
    ]);
  });
});

test("a database that hangs holds up no server that ends: what it did not take is in the log", async () => {
  vi.useFakeTimers();
  const observations: Observation[] = [];
  const hanging: Database = {
    ...NO_DATABASE,
    read: (_role, _access, _statements, { signal }) =>
      new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  const log = new RefusalLog(hanging, (observation) => observations.push(observation));
  for (let call = 0; call < 40; call += 1) log.add(refusal("acme", `caller-${call}`));

  const closed = log.close();
  await vi.advanceTimersByTimeAsync(5_000);
  await closed;
  vi.useRealTimers();

  expect(observations).toHaveLength(40);
});

describe("what is kept of refusals until it is written is bounded", () => {
  /** A database that takes nothing until it is told to, and who was written then. */
  function heldBack() {
    const gate = Promise.withResolvers<void>();
    const written: string[] = [];
    const database: Database = {
      ...db.database,
      read: async (_role, access) => {
        await gate.promise;
        written.push(access.tenantId);
        return [] as never;
      },
    };
    return { database, written, open: gate.resolve };
  }

  test("of tenants: one too many ends the period early, and no count is lost", async () => {
    const { database, written, open } = heldBack();
    open();
    const log = new RefusalLog(database, () => {});
    log.add(refusal("again", "mallory"));
    log.add(refusal("again", "mallory"));
    for (let tenant = 0; tenant < 1_000; tenant += 1) log.add(refusal(`tenant-${tenant}`, "mallory"));
    await expect.poll(() => written.length).toBe(1_002);

    expect(written.filter((tenant) => tenant === "again")).toHaveLength(2);
    await log.close();
  });

  test("of records on their way: what comes beyond ten thousand is in the log alone", async () => {
    const observations: Observation[] = [];
    const { database, written, open } = heldBack();
    const log = new RefusalLog(database, (observation) => observations.push(observation));
    for (let tenant = 0; tenant < 10_003; tenant += 1) log.add(refusal(`tenant-${tenant}`, "mallory"));

    expect(observations).toEqual(
      [10_000, 10_001, 10_002].map((tenant) => ({
        ...{ kind: "audit-failed", tenant: `tenant-${tenant}`, refusals: 1 },
        error: new PlainError("too many records wait for the database"),
      })),
    );
    open();
    await log.close();
    expect(written).toHaveLength(10_000);
    log.add(refusal("later", "mallory"));
    await expect.poll(() => written.at(-1)).toBe("later");
  });
});

describe("nobody changes what was recorded", () => {
  test.each([
    sql`update pgrcp_state.audit set subject = 'somebody else'`,
    sql`update pgrcp.corpus_versions set subject = 'somebody else'`,
  ])("the operator's login may not write over a record: $strings.0", async (statement) => {
    const changed = db.operator.write((transaction) => transaction.query(compile(statement, () => undefined)));
    await expect(changed).rejects.toMatchObject({ code: -32012 });
  });

  test("no record goes in its first thirty days, and collecting takes what is older than the setting", async () => {
    const tenant = freshTenant();
    await createTenant(db.operator, db.config, tenant);
    const count = async () => (await audit(tenant)).length;
    const age = (days: number) =>
      asOwner(
        sql`update pgrcp_state.audit set recorded_at = now() - make_interval(days => ${days}::int) where tenant_id = ${tenant}`,
      );
    const everything = sql`delete from pgrcp_state.audit where tenant_id = ${tenant}`;
    await db.operator.write((transaction) => transaction.query(compile(everything, () => undefined)));
    expect(await count()).toBe(1);

    await age(364);
    await Array.fromAsync(collect(db.operator, { versionHours: 24, auditDays: 365 }));
    expect(await count()).toBe(1);

    await age(366);
    await Array.fromAsync(collect(db.operator, { versionHours: 24, auditDays: 365 }));
    await expect(audit(tenant)).resolves.toEqual([]);
  });

  test("a version that is past its time goes from the record, and the corpus keeps its newest", async () => {
    const tenant = freshTenant();
    const server = await serve();
    const token = await issuer.mint({ tenant, credentials: ["add"], corpora: "*" });
    for (const text of ["one", "two"]) await server.call("index/add", { documents: [{ id: "a", text }] }, { token });
    await server.close();
    await asOwner(
      sql`update pgrcp.corpus_versions set committed_at = now() - interval '366 days' where tenant_id = ${tenant}`,
    );
    // What is withdrawn in this round is old enough to go in the next one.
    for (let round = 0; round < 2; round += 1)
      await Array.fromAsync(collect(db.operator, { versionHours: 24, auditDays: 365 }));

    const versions = (await audit(tenant)).filter((row) => row.action === "add");
    expect(versions.map((row) => row.version)).toEqual([2]);
  });
});
