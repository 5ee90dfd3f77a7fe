import { expect, onTestFinished, vi } from "vitest";
import { type Corpus, DEFAULT_CORPUS } from "../../../src/catalog/corpus.ts";
import { configSchema } from "../../../src/config/config.ts";
import { openPostgresAdmin } from "../../../src/db/operator-database.ts";
import { PostgresDatabase } from "../../../src/db/postgres-database.ts";
import type { Observation } from "../../../src/observability/observation.ts";
import { type Sql, type Statement, sql } from "../../../src/sql/sql.ts";
import { limits, rows, run } from "../../db/rows.ts";
import { accessTo } from "../access.ts";
import { openTestDatabase } from "../database.ts";
import { callerOf, freshTenant } from "../method-caller.ts";
import { primaryAndStandby } from "./standby.ts";

/** Whether Postgres's programs are here to start clusters with. */
export const HAS_CLUSTERS =
  process.env.PGRCP_TEST_DATABASE_URL !== undefined && process.env.PGRCP_TEST_CONTAINERS !== "1";

const MINUTE = 60_000;

/** Who answers is told by the port that it was asked at. */
export const AT: Statement<{ readonly port: number }> = rows(sql`select inet_server_port() as port`);

export const withPort = (url: string, port: number): string => Object.assign(new URL(url), { port: String(port) }).href;

export type Replicated = Awaited<ReturnType<typeof openReplicated>>;

/** A database with a standby, and server processes that read from it. */
export async function openReplicated() {
  const { primary, standby } = await primaryAndStandby();
  vi.stubEnv("PGRCP_TEST_DATABASE_URL", primary.url);
  vi.stubEnv("PGRCP_TEST_POOLER_URL", undefined);
  const opened = await openTestDatabase();
  // The cluster does without; what a mark promises holds for commits that wait for the disk.
  await opened.admin.query(run(sql`alter role pgrcp_adder set synchronous_commit = on`));
  const onStandby = () => withPort(opened.config.database.url ?? "", standby.port);
  /** The standby's superuser. */
  const there = openPostgresAdmin(onStandby(), opened.config, () => {});

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
    const corpus = await caller.services.corpora.find("reader", accessTo(tenantId), DEFAULT_CORPUS, limits());
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

  async function close(): Promise<void> {
    await there.close();
    await opened.close();
    vi.unstubAllEnvs();
    await standby.stop();
    await primary.stop();
  }

  return {
    primary,
    standby,
    opened,
    there,
    onStandby,
    server,
    seeded,
    readAt,
    untilRead,
    pause,
    resume,
    slowRead,
    close,
  };
}
