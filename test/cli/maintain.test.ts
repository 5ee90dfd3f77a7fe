import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { chunksBy, fill, ownPartitions, placeOf } from "../support/placing.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";
import { runCli, startCli } from "./run-cli.ts";

const cwd = mkdtempSync(join(tmpdir(), "pgrcp-maintain-"));
afterAll(() => rmSync(cwd, { recursive: true }));

test("on the embedded database there is nothing to do", async () => {
  expect(await runCli(["maintain"], cwd, { PGRCP_CONFIG: undefined, PGRCP_DATABASE__URL: undefined })).toEqual({
    code: 0,
    stdout: "nothing to do: the embedded database searches every corpus exactly\n",
    stderr: "",
  });
});

test("a time that cannot be meant is refused", async () => {
  const { code, stderr } = await runCli(["maintain", "--every", "0s"], cwd);

  expect(code).toBe(2);
  expect(stderr).toContain("It must look like 30s, 10m or 2h, and be at most 24h.");
});

describe.runIf(process.env.PGRCP_TEST_DATABASE_URL !== undefined)("on Postgres", { timeout: 120_000 }, () => {
  const FIELDS = { year: "int" } as const;
  const random = new SeededRandom(testSeed());
  let opened: TestDatabase;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    opened = await openTestDatabase({ fields: filterFields(FIELDS) });
    const { migrateUrl, operator } = opened.config.database;
    env = {
      PGRCP_CONFIG: undefined,
      PGRCP_DATABASE__URL: migrateUrl,
      PGRCP_DATABASE__OPERATOR__PASSWORD: operator.password,
      PGRCP_RETRIEVAL__OWN_PARTITION_FROM: "300",
    };
  });
  afterAll(() => opened.close());

  async function filled(count: number) {
    const tenantId = freshTenant();
    const caller = callerOf(opened.database, tenantId, { config: { filter: { fields: FIELDS } } });
    await fill(caller, random, count);
    return { tenantId, caller };
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo())) await sleep(50);
  }

  const counted = async (statement: ReturnType<typeof sql>) =>
    (await opened.admin.query(compile(statement, (row) => row.count as number)))[0] ?? 0;
  const maintainers = () =>
    counted(
      sql`select count(*) as count from pg_stat_activity where application_name = 'pgrcp maintain' and datname = current_database()`,
    );
  const unfinished = () => counted(sql`select count(*) as count from pg_index where not indisvalid`);

  /** Kills a run once it is so far, while somebody else's transaction keeps it from going on. */
  async function killedWhile(blocker: string, isSoFar: () => Promise<boolean>): Promise<void> {
    const other = new pg.Client(opened.config.database.migrateUrl);
    await other.connect();
    await other.query(blocker);
    const run = startCli(["maintain"], cwd, env);
    await until(isSoFar);
    run.kill("SIGKILL");
    await run.result;
    await until(async () => (await maintainers()) === 0); // Postgres notices on its own
    await other.end();
  }

  test("a run says what it did, and one that finds nothing to do says nothing", async () => {
    const { tenantId } = await filled(310);

    const { code, stdout } = await runCli(["maintain"], cwd, env);

    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(
        new RegExp(
          `^${tenantId}/default: moved to its own partition, 310 chunks in .* s; writes waited \\d+ ms at most$`,
        ),
      ),
      expect.stringMatching(new RegExp(`^${tenantId}/default: built its graph, 310 chunks in .* s$`)),
      "",
    ]);
    expect(await runCli(["maintain"], cwd, env)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("a service goes on until it is told to stop", async () => {
    const { tenantId } = await filled(310);
    const run = startCli(["maintain", "--every", "1s"], cwd, env);
    await run.line(`${tenantId}/default: built its graph`);
    const later = await filled(320);
    await run.line(`${later.tenantId}/default: built its graph`);

    run.kill("SIGTERM");

    expect(await run.result).toMatchObject({ code: 0 });
  });

  test("a move that is killed leaves the corpus whole, and the next run ends it", async () => {
    const { tenantId, caller } = await filled(1_200);
    const before = await caller.hits({ query: "amber coral", k: 50 });
    const moved = async () => Object.keys(await chunksBy(opened.admin, tenantId)).length === 2;

    await killedWhile(
      `begin; select from pgrcp.chunks where tenant_id = '${tenantId}' and chunk_no = 1100 for update`,
      moved,
    );
    expect(await caller.hits({ query: "amber coral", k: 50 })).toEqual(before);
    const { stdout } = await runCli(["maintain"], cwd, env);

    expect(stdout).toMatch(/moved to its own partition, 200 chunks .*\n.*built its graph, 1200 chunks/);
    expect(await caller.hits({ query: "amber coral", k: 50 })).toEqual(before);
    expect(Object.values(await chunksBy(opened.admin, tenantId))).toEqual([1_200]);
  });

  test("a build that is killed leaves an index that the next run removes before it builds", async () => {
    const { tenantId, caller } = await filled(330);
    const before = await caller.hits({ query: "amber coral", k: 50 });
    const partitions = (await ownPartitions(opened.admin)).length;

    // What has a snapshot from before is waited for at the end of a build.
    await killedWhile(
      "begin isolation level repeatable read; select from pgrcp.corpora limit 1",
      async () => (await unfinished()) === 1,
    );
    expect(await placeOf(opened.admin, tenantId)).toMatchObject({ graphChunks: null });
    const { stdout, stderr } = await runCli(["maintain"], cwd, env);

    expect(stderr).toContain("removed an unfinished index");
    expect(stdout).toMatch(/^[^\n]*built its graph, 330 chunks[^\n]*\n$/);
    expect(await unfinished()).toBe(0);
    expect(await ownPartitions(opened.admin)).toHaveLength(partitions + 1);
    expect(await caller.hits({ query: "amber coral", k: 50 })).toEqual(before);
  });
});
