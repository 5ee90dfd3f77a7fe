import net from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Corpus, CorpusName } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import type { AdminConnection } from "../../src/db/admin-connection.ts";
import { openPostgresAdmin } from "../../src/db/operator-database.ts";
import { PostgresDatabase } from "../../src/db/postgres-database.ts";
import { examine } from "../../src/db/self-test.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { type Sql, type Statement, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { type Cluster, primaryAndStandby } from "../support/postgres/standby.ts";
import { limits, rows, run } from "./rows.ts";

/** Reads from a real standby. The tests say who answered by the port that a statement was run at. */

const hasPostgres = process.env.PGRCP_TEST_DATABASE_URL !== undefined && process.env.PGRCP_TEST_CONTAINERS !== "1";
const MINUTE = 60_000;
const AT: Statement<{ readonly port: number }> = rows(sql`select inet_server_port() as port`);

describe.runIf(hasPostgres)("a replica", { timeout: 3 * MINUTE }, () => {
  let primary: Cluster;
  let standby: Cluster;
  let opened: TestDatabase;
  /** The standby's superuser. */
  let there: AdminConnection;

  beforeAll(async () => {
    ({ primary, standby } = await primaryAndStandby());
    vi.stubEnv("PGRCP_TEST_DATABASE_URL", primary.url);
    vi.stubEnv("PGRCP_TEST_POOLER_URL", undefined);
    opened = await openTestDatabase();
    // The cluster does without; what a mark promises holds for commits that wait for the disk.
    await opened.admin.query(run(sql`alter role pgrcp_adder set synchronous_commit = on`));
    there = openPostgresAdmin(onStandby(), opened.config, () => {});
  }, 2 * MINUTE);
  afterAll(async () => {
    await there?.close();
    await opened?.close();
    vi.unstubAllEnvs();
    await standby?.stop();
    await primary?.stop();
  }, 2 * MINUTE);

  const at = (url: string, port: number) => Object.assign(new URL(url), { port: String(port) }).href;
  const onStandby = () => at(opened.config.database.url ?? "", standby.port);

  /** What one server process has, and what it observes. Closed after the test. */
  function server(settings: { maxReplicaLagMs?: number; replicas?: string[] } = {}) {
    const url = opened.config.database.url ?? "";
    const database = { ...opened.config.database, replicas: [onStandby()], maxReplicaLagMs: 10 * MINUTE, ...settings };
    const observed: Observation[] = [];
    const here = new PostgresDatabase(url, configSchema.parse({ database }), (one) => void observed.push(one));
    onTestFinished(() => here.close());
    return Object.assign(here, { observed });
  }

  /** A tenant with one document, and its corpus. */
  async function seeded(database: PostgresDatabase, text = "amber") {
    const tenantId = freshTenant();
    const caller = callerOf(database, tenantId);
    const { _meta } = await caller.add([{ id: "first", text }]);
    const corpus = await caller.services.corpora.find("reader", accessTo(tenantId), DEFAULT, limits());
    if (corpus === undefined) throw new Error("the corpus is not there");
    return { tenantId, caller, corpus, token: _meta.indexVersion ?? "" };
  }

  const readAt = async (database: PostgresDatabase, corpus: Corpus, pin?: string): Promise<number | undefined> =>
    (await database.readCorpus({ corpus, pin }, accessTo(corpus.tenantId), [AT], limits()))[0][0]?.port;

  /** Until reads of the corpus go to the standby: from there on that it was written is no reason not to. */
  const untilRead = (database: PostgresDatabase, corpus: Corpus) =>
    vi.waitFor(async () => expect(await readAt(database, corpus)).toBe(standby.port), {
      timeout: MINUTE,
      interval: 20,
    });

  const pause = async () => {
    await there.query(run(sql`select pg_wal_replay_pause()`));
    const isPaused = rows<{ state: string }>(sql`select pg_get_wal_replay_pause_state() as state`);
    await vi.waitFor(async () => expect(await there.query(isPaused)).toEqual([{ state: "paused" }]), MINUTE);
    onTestFinished(resume);
  };
  const resume = async () => {
    await there.query(run(sql`select pg_wal_replay_resume()`)).catch(() => {});
  };

  /** A statement that runs at the standby until it is stopped, or at the primary for a moment. */
  async function slowRead(database: PostgresDatabase, corpus: Corpus, what: Sql) {
    const statement = rows<{ port: number }>(
      sql`select inet_server_port() as port from ${what}, pg_sleep(case when pg_is_in_recovery() then 600 else 0 end) limit 1`,
    );
    const reading = database.readCorpus({ corpus }, accessTo(corpus.tenantId), [statement], limits(2 * MINUTE));
    const running = rows<{ n: number }>(
      sql`select count(*) as n from pg_stat_activity where wait_event = 'PgSleep' and usename = 'pgrcp_reader'`,
    );
    await vi.waitFor(async () => expect(await there.query(running)).toEqual([{ n: 1 }]), MINUTE);
    return { reading };
  }

  test("answers reads of a corpus, and the primary all others", async () => {
    const database = server();
    const { corpus, tenantId } = await seeded(database);
    await untilRead(database, corpus);

    expect(await database.read("reader", accessTo(tenantId), [AT], limits())).toEqual([[{ port: primary.port }]]);
    expect(await database.read("state", accessTo(tenantId), [AT], limits())).toEqual([[{ port: primary.port }]]);
    expect(database.observed).toContainEqual(expect.objectContaining({ kind: "replica", state: "used" }));
  });

  test("that lacks a write is passed over by the process that made it, and read by others unless they name its version", async () => {
    const [writing, reading] = [server(), server()];
    const { tenantId, caller, corpus } = await seeded(writing);
    const other = callerOf(reading, tenantId);
    await Promise.all([untilRead(writing, corpus), untilRead(reading, corpus)]);
    await pause();

    const { _meta } = await caller.add([{ id: "second", text: "amber amber" }]);

    expect((await caller.ids({})).sort()).toEqual(["first", "second"]);
    expect(await other.ids({})).toEqual(["first"]);
    expect((await other.ids({ indexVersion: _meta.indexVersion })).sort()).toEqual(["first", "second"]);
    // It has met the version by now, and goes back behind it no more.
    expect((await other.ids({})).sort()).toEqual(["first", "second"]);
    expect(await caller.delete(["first"])).toBe(1);
    expect(await caller.ids({})).toEqual(["second"]);
    await resume();
    await untilRead(writing, corpus);
    expect(await caller.ids({})).toEqual(["second"]);
  });

  test("that lacks the version of a cursor does not answer its page", async () => {
    const [writing, reading] = [server(), server()];
    const { tenantId, caller, corpus } = await seeded(writing);
    await untilRead(reading, corpus);
    await pause();
    await caller.add(["a", "b", "c"].map((id) => ({ id, text: `${id} amber` })));
    const first = await caller.retrieve({ k: 2 });

    const second = await callerOf(reading, tenantId).retrieve({ k: 2, cursor: first.nextCursor });

    const ids = [...first.hits, ...second.hits].map(({ id }) => id);
    expect(ids.toSorted()).toEqual(["a", "b", "c", "first"]);
    expect(second.indexVersion).toBe(first.indexVersion);
  });

  test("answers a pinned read once it has the version, and a version that is nowhere has the one answer", async () => {
    const [writing, reading] = [server(), server()];
    const { tenantId, corpus, token } = await seeded(writing);
    await untilRead(reading, corpus);

    expect(await readAt(reading, corpus, token)).toBe(standby.port);
    expect(await readAt(reading, corpus, "no-such-version")).toBe(primary.port);
    await expect(callerOf(reading, tenantId).ids({ indexVersion: "no-such-version" })).rejects.toMatchObject({
      code: ErrorCode.BackendUnavailable,
      data: { retryable: false },
    });
  });

  test("that has a corpus elsewhere than its chunks are now is passed over, and its hits are not lost", async () => {
    const [writing, reading] = [server(), server()];
    const { tenantId, corpus } = await seeded(writing);
    await untilRead(reading, corpus);
    await pause();
    await opened.admin.query(
      run(sql`update pgrcp.corpora set placement = 'p_1', moving_from = 'shared' where tenant_id = ${tenantId}`),
    );

    expect(await readAt(reading, { ...corpus, placement: "p_1", movingFrom: "shared" })).toBe(primary.port);
    expect(await callerOf(reading, tenantId).ids({})).toEqual(["first"]);
  });

  test("shows a caller nothing of another tenant, whatever is asked, and nothing at all without the credential", async () => {
    const database = server();
    const [mine, theirs] = [await seeded(database), await seeded(database)];
    await Promise.all([untilRead(database, mine.corpus), untilRead(database, theirs.corpus)]);
    const everything = rows<{ tenant: string; port: number }>(
      sql`select tenant_id as tenant, inet_server_port() as port from pgrcp.documents`,
    );
    const own = [[{ tenant: mine.tenantId, port: standby.port }]];

    expect(await database.readCorpus({ corpus: mine.corpus }, accessTo(mine.tenantId), [everything], limits())).toEqual(
      own,
    );
    // Another tenant's corpus is not there to be found.
    const crossed = database.readCorpus({ corpus: theirs.corpus }, accessTo(mine.tenantId), [everything], limits());
    expect(await crossed).toEqual([[{ tenant: mine.tenantId, port: primary.port }]]);
    const none = { tenantId: mine.tenantId, credentials: new Set([]) };
    await expect(database.readCorpus({ corpus: mine.corpus }, none, [everything], limits())).rejects.toMatchObject({
      code: ErrorCode.Unauthorized,
    });
  });

  test("takes no write, and has the settings and the rights of the reader's login", async () => {
    const database = server();
    const { corpus } = await seeded(database);
    await untilRead(database, corpus);
    const setting = rows<{ value: string; port: number }>(
      sql`select current_setting(name) as value, inet_server_port() as port from unnest(${[
        "default_transaction_read_only",
        "transaction_isolation",
        "enable_seqscan",
        "plan_cache_mode",
        "statement_timeout",
      ]}::text[]) name`,
    );

    const [found] = await database.readCorpus({ corpus }, accessTo(corpus.tenantId), [setting], limits());

    const { port } = standby;
    expect(found.slice(0, 4)).toEqual(
      ["on", "repeatable read", "off", "force_custom_plan"].map((value) => ({ value, port })),
    );
    // Half of what the caller has, so that the primary has as much.
    expect(found[4]).toEqual({ value: "5s", port });
    const write = run(sql`delete from pgrcp.documents where tenant_id = ${corpus.tenantId}`);
    await expect(database.readCorpus({ corpus }, accessTo(corpus.tenantId), [write], limits())).rejects.toThrow();
  });

  test("is read however long the primary has been idle", async () => {
    const maxReplicaLagMs = 500;
    const database = server({ maxReplicaLagMs });
    const { corpus } = await seeded(database);
    const idle = rows<{ port: number; ageMs: number }>(
      sql`select inet_server_port() as port, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000 as "ageMs"`,
    );

    await vi.waitFor(async () => {
      const [[found]] = await database.readCorpus({ corpus }, accessTo(corpus.tenantId), [idle], limits());
      expect(found?.port).toBe(standby.port);
      expect(found?.ageMs).toBeGreaterThan(2 * maxReplicaLagMs);
    }, MINUTE);
  });

  test("that stands still has every commit of more than maxReplicaLagMs ago in its answers, or gives none", async () => {
    const maxReplicaLagMs = 1_000;
    const [writing, reading] = [server(), server({ maxReplicaLagMs })];
    const { caller, corpus, tenantId } = await seeded(writing);
    await untilRead(reading, corpus);
    await pause();
    await caller.add([{ id: "second", text: "amber" }]);
    const mustBeThereAt = performance.now() + maxReplicaLagMs;
    const other = callerOf(reading, tenantId);

    for (let isDue = false; !isDue; ) {
      isDue = performance.now() > mustBeThereAt;
      const found = await other.ids({});
      if (isDue) expect(found.toSorted()).toEqual(["first", "second"]);
    }

    expect(await readAt(reading, corpus)).toBe(primary.port);
    expect(reading.observed).toContainEqual(
      expect.objectContaining({ kind: "replica", state: "unused", reason: "late" }),
    );
    await resume();
    await untilRead(reading, corpus);
  });

  test("whose vacuum stops a read has it done by the primary", async () => {
    const database = server();
    const { corpus } = await seeded(database);
    const patience = (value: Sql) =>
      there
        .query(run(sql`alter system set max_standby_streaming_delay = ${value}`))
        .then(() => there.query(run(sql`select pg_reload_conf()`)));
    await patience(sql`0`);
    onTestFinished(() => void patience(sql`default`));
    await untilRead(database, corpus);
    const { reading } = await slowRead(database, corpus, sql`pgrcp.documents`);

    // Dead rows that the snapshot of that read still sees.
    await opened.admin.query(run(sql`update pgrcp.documents set title = 'new' where tenant_id = ${corpus.tenantId}`));
    await opened.admin.query(run(sql`vacuum pgrcp.documents`));

    expect(await reading).toEqual([[{ port: primary.port }]]);
    const sentOn = { kind: "read-sent-on", reason: "statement", sqlstate: "40001" };
    expect(database.observed).toContainEqual(expect.objectContaining(sentOn));
    const unused = expect.objectContaining({ kind: "replica", state: "unused" });
    expect(database.observed).not.toContainEqual(unused);
    await untilRead(database, corpus);
  });

  test("that does not answer any more holds a read up for half of its time at most", async () => {
    let isFrozen = false;
    const sockets = new Set<net.Socket>();
    const proxy = net.createServer((socket) => {
      const behind = net.connect(standby.port, "127.0.0.1");
      for (const [from, to] of [[socket, behind] as const, [behind, socket] as const]) {
        sockets.add(from);
        from.on("error", () => {}).on("data", (bytes) => isFrozen || to.write(bytes));
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    const { port } = proxy.address() as net.AddressInfo;
    const database = server({ replicas: [at(onStandby(), port)] });
    const { corpus } = await seeded(database);
    await untilRead(database, corpus);
    isFrozen = true;

    const answer = await database.readCorpus({ corpus }, accessTo(corpus.tenantId), [AT], limits(8_000));

    expect(answer).toEqual([[{ port: primary.port }]]);
    expect(database.observed).toContainEqual(expect.objectContaining({ state: "unused", reason: "away" }));
    expect(await readAt(database, corpus)).toBe(primary.port);
  });

  test("that crashes costs no caller an answer, and is read again when it is back", async () => {
    const database = server({ maxReplicaLagMs: 5_000 });
    const { caller, corpus } = await seeded(database);
    await untilRead(database, corpus);
    const { reading } = await slowRead(database, corpus, sql`(values (1)) one`);

    standby.kill();

    expect(await reading).toEqual([[{ port: primary.port }]]);
    for (let call = 0; call < 20; call += 1) expect(await caller.ids({})).toEqual(["first"]);
    expect(database.observed).toContainEqual(
      expect.objectContaining({ kind: "replica", state: "unused", reason: "away" }),
    );
    await standby.resume();
    await untilRead(database, corpus);
    expect(await caller.ids({})).toEqual(["first"]);
  });

  describe("at start", () => {
    const found = async (replicas: string[]) =>
      (await examine(server({ replicas }), new Map())).filter(({ name }) => name.startsWith("replica "));

    test("is well", async () => {
      const name = expect.stringMatching(/^replica 127.0.0.1:\d+\/pgrcp_test_/);
      expect(await found([onStandby()])).toEqual([{ name, findings: [] }]);
    });

    test("that is another database stops the start", async () => {
      const other = at(primary.url, standby.port);
      expect(await found([other])).toMatchObject([
        { findings: [{ severity: "error", line: expect.stringContaining("is another database than database.url") }] },
      ]);
    });

    test("that is out of reach, or was promoted, is a warning", async () => {
      const { url = "" } = opened.config.database;
      expect(await found([at(url, 1), url])).toMatchObject([
        { findings: [{ severity: "warning", line: expect.stringContaining("no database answers at 127.0.0.1:1/") }] },
        { findings: [{ severity: "warning", line: expect.stringContaining("is no standby at present") }] },
      ]);
    });
  });

  // The last: there is no way back.
  test("that was promoted is left alone", async () => {
    const database = server();
    const { corpus } = await seeded(database);
    await untilRead(database, corpus);

    await there.query(run(sql`select pg_promote()`));

    expect(await readAt(database, corpus)).toBe(primary.port);
    const unused = expect.objectContaining({ kind: "replica", state: "unused", reason: "other" });
    await vi.waitFor(() => expect(database.observed).toContainEqual(unused), MINUTE);
  });
});

const DEFAULT = "default" as CorpusName;
