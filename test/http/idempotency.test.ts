import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import type { Database } from "../../src/db/database.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { compile, type Sql, type Statement, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type CallOptions, type RcpServer, type RpcAnswer, startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

const UNNAMED = { documents: [{ text: "amber" }, { id: "named", text: "zircon" }] };
const IN_CONFLICT = { error: { code: -32016 } };

let issuer: TestIssuer;
let db: TestDatabase;
let server: RcpServer;
/** Another process, as far as the database can tell: it shares nothing else. */
let second: RcpServer;
/** Embedding waits for this. */
let gate: Promise<void> = Promise.resolve();
let atGate: () => void = () => {};
beforeAll(async () => {
  issuer = await testIssuer();
  db = await openTestDatabase();
  [server, second] = await Promise.all([serve({}), serve({})]);
});
afterAll(async () => {
  await Promise.all([server.close(), second.close()]);
  await db.close();
});

function serve(parts: { readonly database?: Database; readonly idempotency?: object }): Promise<RcpServer> {
  const { database = db.database, idempotency = {} } = parts;
  const model = testEmbeddingModel();
  const embedding: EmbeddingModel = {
    ...model,
    async embed(...asked) {
      atGate();
      await gate;
      return model.embed(...asked);
    },
  };
  // Twenty writes of one tenant are to run at the same time.
  const load = { writes: { running: 40 } };
  const config = { auth: { combinedTokens: true }, rateLimit: { enabled: false }, load, idempotency };
  const corpora = new CachedCorpusStore(database);
  return startRcpServer({ issuer, config, handlers: HANDLERS, database, corpora, embedding });
}

let tenants = 0;
/** Somebody of a tenant that no other test has. */
async function caller(claims: { readonly tenant?: string; readonly subject?: string; readonly client?: string } = {}) {
  const tenant = claims.tenant ?? `once-${tenants++}`;
  const token = await issuer.mint({ credentials: CREDENTIALS, ...claims, tenant });
  const write = (method: string, params: object, key: string | undefined, options: CallOptions = {}, to = server) =>
    to.call(method, key === undefined ? params : { ...params, _meta: { idempotencyKey: key } }, { token, ...options });
  return {
    tenant,
    token,
    add: (params: object, key?: string, options?: CallOptions, to?: RcpServer) =>
      write("index/add", params, key, options, to),
    delete: (ids: readonly string[], key?: string, options?: CallOptions, to?: RcpServer) =>
      write("index/delete", { ids }, key, options, to),
    async ids() {
      const { body } = await server.call("retrieve", { query: "amber zircon", k: 50 }, { token });
      return ((body?.result?.hits ?? []) as readonly { readonly id: string }[]).map(({ id }) => id).toSorted();
    },
  };
}

const admin = (statement: Sql) => db.admin.query(compile(statement, (row) => row));
const versionsOf = async (tenant: string) =>
  (await admin(sql`select version from pgrcp.corpus_versions where tenant_id = ${tenant}`)).length;
const keysOf = async (tenant: string) =>
  (await admin(sql`select 1 from pgrcp.idempotency_keys where tenant_id = ${tenant}`)).length;

/** Sends so many calls and lets them embed only once all of them are there. */
async function together(count: number, send: (index: number) => Promise<RpcAnswer>): Promise<RpcAnswer[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let waiting = 0;
  gate = promise;
  atGate = () => {
    waiting += 1;
    if (waiting === count) resolve();
  };
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => send(index)));
  gate = Promise.resolve();
  atGate = () => {};
  return answers;
}

describe("idempotency.maxKeysPerPrincipal", () => {
  test("one key more is -32011 until one expires, before the model reads anything, and a repeat has its answer", async () => {
    const few = await serve({ idempotency: { maxKeysPerPrincipal: 2, ttlSeconds: 3_600 } });
    const { tenant, add, delete: remove } = await caller();
    const first = await add(UNNAMED, "a", {}, few);
    await add(UNNAMED, "b", {}, few);
    let calls = 0;
    atGate = () => {
      calls += 1;
    };

    const { body } = await add(UNNAMED, "c", {}, few);
    atGate = () => {};

    expect(body).toMatchObject({ error: { code: -32011, data: { retryable: true } } });
    expect(body?.error?.data?.retryAfterMs).toBeGreaterThan(3_500_000);
    expect(body?.error?.data?.retryAfterMs).toBeLessThanOrEqual(3_600_000);
    expect(calls).toBe(0);
    expect((await add(UNNAMED, "a", {}, few)).text).toBe(first.text);
    expect((await add(UNNAMED, undefined, {}, few)).body).toHaveProperty("result");
    expect(await versionsOf(tenant)).toBe(3);

    // Another caller, and the caller's other credential.
    const other = await caller({ tenant, subject: "somebody-else" });
    expect((await other.add(UNNAMED, "c", {}, few)).body).toHaveProperty("result");
    expect((await remove(["named"], "c", {}, few)).body).toHaveProperty("result");

    await admin(
      sql`update pgrcp.idempotency_keys set expires_at = now() where tenant_id = ${tenant} and key_hash = (select key_hash from pgrcp.idempotency_keys where tenant_id = ${tenant} and credential = 'add' and subject <> 'somebody-else' limit 1) returning true`,
    );
    expect((await add(UNNAMED, "c", {}, few)).body).toHaveProperty("result");
    await few.close();
  });
});

describe("RCP §7.10, index/add with an idempotency key", () => {
  test("gives a repeat the first result, minted ids and version included, and writes nothing", async () => {
    const { tenant, add, ids } = await caller();

    const first = await add(UNNAMED, "k");
    const repeat = await add(UNNAMED, "k");

    expectValidSuccess("index/add", first.body);
    expect(first.body?.result).toMatchObject({ ids: [expect.any(String), "named"], chunks: 2 });
    expect(repeat.text).toBe(first.text);
    expect(await versionsOf(tenant)).toBe(1);
    expect(await ids()).toHaveLength(2);
  });

  test("without one, or with another, is another write", async () => {
    const { tenant, add } = await caller();

    const answers = [await add(UNNAMED), await add(UNNAMED), await add(UNNAMED, "a"), await add(UNNAMED, "b")];

    expect(new Set(answers.map(({ text }) => text)).size).toBe(4);
    expect(await versionsOf(tenant)).toBe(4);
  });

  test("costs a repeat no call of the model", async () => {
    const { add } = await caller();
    await add(UNNAMED, "k");
    let calls = 0;
    atGate = () => {
      calls += 1;
    };

    await add(UNNAMED, "k");

    atGate = () => {};
    expect(calls).toBe(0);
  });

  test("takes no notice of what a retry changes around the write", async () => {
    const { token, add } = await caller();
    const first = await add(UNNAMED, "k");

    const _meta = { idempotencyKey: "k", traceId: "another", deadlineMs: 9_000, progressToken: "p" };
    const repeat = await server.call("index/add", { _meta, ...UNNAMED }, { token, id: "other" });

    expect(repeat.body?.id).toBe("other");
    expect(repeat.body?.result).toEqual(first.body?.result);
  });

  test.each([
    ["text", { documents: [{ text: "amber!" }, { id: "named", text: "zircon" }] }],
    ["id", { documents: [{ text: "amber" }, { id: "renamed", text: "zircon" }] }],
    ["meta", { documents: [{ text: "amber" }, { id: "named", text: "zircon", meta: { title: "T" } }] }],
    ["option", { ...UNNAMED, chunk: false }],
    ["number of documents", { documents: [{ text: "amber" }] }],
  ])("refuses the key with another %s: -32016, and nothing is written", async (_what, other) => {
    const { tenant, add } = await caller();
    await add(UNNAMED, "k");

    const refused = await add(other, "k");

    expectValidError(refused.body);
    expect(refused.body).toMatchObject(IN_CONFLICT);
    expect(await versionsOf(tenant)).toBe(1);
  });

  test("refuses the key in another corpus", async () => {
    const { tenant, add } = await caller();
    await add(UNNAMED, "k");
    await admin(sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
select tenant_id, 'other', language, model_identity, dimension, screening from pgrcp.corpora where tenant_id = ${tenant}`);

    expect((await add(UNNAMED, "k", { corpus: "other" })).body).toMatchObject(IN_CONFLICT);
  });

  test.each([
    ["tenant", { tenant: "once-stranger" }],
    ["subject", { subject: "bob" }],
    ["client", { client: "another" }],
  ])("does not know the key of another %s", async (_what, claims) => {
    const one = await caller();
    const other = await caller({ tenant: one.tenant, ...claims });

    const [first, second] = [await one.add(UNNAMED, "k"), await other.add(UNNAMED, "k")];

    expectValidSuccess("index/add", second.body);
    expect(second.text).not.toBe(first.text);
    expect((await other.add({ documents: [{ text: "jade" }] }, "k")).body).toMatchObject(IN_CONFLICT);
  });

  test("keeps neither key nor request in clear", async () => {
    const { tenant, add } = await caller();
    await add({ documents: [{ text: "a very private text" }] }, "a very private key");

    const rows = await admin(sql`select to_jsonb(k) as row from pgrcp.idempotency_keys k where tenant_id = ${tenant}`);

    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain("private");
  });

  test("leaves no key when the write fails in its transaction, and the retry is the first", async () => {
    const failing = await serve({ database: failingOnce("insert into pgrcp.documents") });
    const { tenant, add } = await caller();

    const failed = await add(UNNAMED, "k", {}, failing);
    expect(failed.body).toMatchObject({ error: { code: -32010, data: { retryable: true } } });
    expect(await keysOf(tenant)).toBe(0);

    expectValidSuccess("index/add", (await add(UNNAMED, "k", {}, failing)).body);
    expect(await versionsOf(tenant)).toBe(1);
    await failing.close();
  });

  test("refuses a result too long to be kept with -32013, and writes nothing", async () => {
    const narrow = await serve({ idempotency: { maxResultBytes: 200 } });
    const { tenant, add } = await caller();
    const long = { documents: [{ id: "x".repeat(200), text: "amber" }] };

    const refused = await add(long, "k", {}, narrow);

    expect(refused.body).toMatchObject({
      error: { code: -32013, data: { detail: expect.stringContaining("idempotency.maxResultBytes") } },
    });
    expect([await versionsOf(tenant), await keysOf(tenant)]).toEqual([0, 0]);
    expectValidSuccess("index/add", (await add(long, undefined, {}, narrow)).body);
    await narrow.close();
  });

  test("is forgotten after its time, and the expired keys of the tenant are removed in passing", async () => {
    const { tenant, add } = await caller();
    for (const key of ["k", "l", "m"]) await add(UNNAMED, key);
    await admin(sql`update pgrcp.idempotency_keys set expires_at = now() where tenant_id = ${tenant}`);

    const again = await add({ documents: [{ text: "another" }] }, "k");

    expectValidSuccess("index/add", again.body);
    expect(await versionsOf(tenant)).toBe(4);
    expect(await keysOf(tenant)).toBe(1);
  });

  test("costs one statement more inside the write, and none without a key", async () => {
    const counted = countingDatabase();
    const watched = await serve({ database: counted.database });
    const { add } = await caller();
    for (let warm = 0; warm < 2; warm++) await add(UNNAMED, undefined, {}, watched);

    const statements = async (key?: string) => {
      counted.reset();
      await add({ documents: [{ id: key ?? "plain", text: "amber" }] }, key, {}, watched);
      return counted.counts();
    };

    const plain = await statements();
    expect(await statements("k")).toEqual({ reads: plain.reads + 1, written: plain.written + 1 });
    await watched.close();
  });
});

describe("concurrent repeats", () => {
  test("20 adds write once and have one answer", async () => {
    const { tenant, add, ids } = await caller();

    const answers = await together(20, () => add(UNNAMED, "k"));

    expectValidSuccess("index/add", answers[0]?.body);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await versionsOf(tenant)).toBe(1);
    expect(await ids()).toHaveLength(2);
  });

  test("20 adds to two servers write once and have one answer", async () => {
    const { tenant, add, ids } = await caller();

    const answers = await together(20, (index) => add(UNNAMED, "k", {}, index % 2 === 0 ? server : second));

    expectValidSuccess("index/add", answers[0]?.body);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await versionsOf(tenant)).toBe(1);
    expect(await ids()).toHaveLength(2);
  });

  test("of 20 different adds with one key, one is written and 19 are refused", async () => {
    const { tenant, add } = await caller();

    const answers = await together(20, (index) => add({ documents: [{ text: `amber ${index}` }] }, "k"));

    const codes = answers.map(({ body }) => body?.error?.code ?? 0).toSorted();
    expect(codes).toEqual([...Array.from({ length: 19 }, () => -32016), 0]);
    expect(await versionsOf(tenant)).toBe(1);
  });

  test("20 adds whose first fails write once: the next one takes its place", async () => {
    const failing = await serve({ database: failingOnce("insert into pgrcp.chunks") });
    const { tenant, add } = await caller();

    const answers = await together(20, () => add(UNNAMED, "k", {}, failing));

    const failed = answers.filter(({ body }) => body?.error !== undefined);
    expect(failed.map(({ body }) => body?.error?.code)).toEqual([-32010]);
    expect(new Set(answers.flatMap(({ body, text }) => (body?.error ? [] : [text]))).size).toBe(1);
    expect(await versionsOf(tenant)).toBe(1);
    await failing.close();
  });

  test("20 deletes to two servers delete once and all count the same", async () => {
    const { tenant, add, delete: remove } = await caller();
    await add({ documents: ["a", "b", "c"].map((id) => ({ id, text: "amber" })) });

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => remove(["a", "b", "gone"], "k", {}, index % 2 === 0 ? server : second)),
    );

    expect(answers.map(({ body }) => body?.result)).toEqual(answers.map(() => ({ deleted: 2 })));
    expect(await versionsOf(tenant)).toBe(2);
  });
});

describe("RCP §7.11, index/delete with an idempotency key", () => {
  test("gives a repeat the first count and deletes nothing that came back since", async () => {
    const { add, delete: remove, ids } = await caller();
    const document = { documents: [{ id: "a", text: "amber" }] };
    await add(document);

    const first = await remove(["a"], "k");
    await add(document);
    const repeat = await remove(["a"], "k");

    expect(first.body?.result).toEqual({ deleted: 1 });
    expect(repeat.body?.result).toEqual({ deleted: 1 });
    expect(await ids()).toEqual(["a"]);
  });

  test("is remembered where there was nothing to delete, be it the corpus itself", async () => {
    const { add, delete: remove, ids } = await caller();

    expect((await remove(["a"], "k")).body?.result).toEqual({ deleted: 0 });
    await add({ documents: [{ id: "a", text: "amber" }] });

    expect((await remove(["a"], "k")).body?.result).toEqual({ deleted: 0 });
    expect(await ids()).toEqual(["a"]);
  });

  test("refuses the key with other ids, and knows nothing of the keys of index/add", async () => {
    const { add, delete: remove } = await caller();
    await add({ documents: [{ id: "a", text: "amber" }] }, "k");

    expect((await remove(["a"], "k")).body?.result).toEqual({ deleted: 1 });
    expect((await remove(["b"], "k")).body).toMatchObject(IN_CONFLICT);
  });
});

/** A database whose first statement of this text, in a write, is refused as if the database had failed. */
function failingOnce(text: string): Database {
  let left = 1;
  const mayFail = (statement: Statement<unknown>) => {
    if (statement.text.includes(text) && left-- > 0)
      throw backendUnavailable({ retryable: true, detail: "the test's own failure" });
  };
  return {
    ...bound(db.database),
    write: (role, access, limits, work) =>
      db.database.write(role, access, limits, (transaction) =>
        work({
          ...transaction,
          query(statement) {
            mayFail(statement);
            return transaction.query(statement);
          },
          batch(statements) {
            statements.forEach(mayFail);
            return transaction.batch(statements);
          },
        }),
      ),
  };
}

/** Counts round trips of reads, and statements in writes. */
function countingDatabase() {
  let [reads, written] = [0, 0];
  const database: Database = {
    ...bound(db.database),
    read: (...asked) => {
      reads += 1;
      return db.database.read(...asked);
    },
    write: (role, access, limits, work) =>
      db.database.write(role, access, limits, (transaction) =>
        work({
          ...transaction,
          query(statement) {
            written += 1;
            return transaction.query(statement);
          },
          batch(statements) {
            written += statements.length;
            return transaction.batch(statements);
          },
        }),
      ),
  };
  return {
    database,
    reset: () => {
      [reads, written] = [0, 0];
    },
    counts: () => ({ reads, written }),
  };
}

const bound = (database: Database): Database => ({
  kind: database.kind,
  read: (...asked) => database.read(...asked),
  readCorpus(_point, ...asked) {
    return this.read("reader", ...asked);
  },
  write: (...asked) => database.write(...asked),
  isReachable: (timeoutMs) => database.isReachable(timeoutMs),
  close: () => database.close(),
});
