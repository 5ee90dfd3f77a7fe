import { afterAll, beforeAll, expect, test } from "vitest";
import { runOperatorCommand } from "../../src/cli/operator-commands.ts";
import { configSchema } from "../../src/config/config.ts";
import type { OperatorDatabase } from "../../src/db/database.ts";
import { collect, keepCollecting } from "../../src/maintenance/collect.ts";
import { runningModel } from "../../src/maintenance/configured-model.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { seed } from "../db/rows.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const RETENTION = { versionHours: 24, auditDays: 365 };
let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

const STATE = [
  "pgrcp_state.sessions",
  "pgrcp_state.trajectories",
  "pgrcp_state.ranked_lists",
  "pgrcp.idempotency_keys",
];
const counts = () =>
  opened.operator.read(
    compile(
      sql`select (select count(*) from pgrcp_state.sessions) as sessions, (select count(*) from pgrcp_state.trajectories) as trajectories, (select count(*) from pgrcp_state.ranked_lists) as lists, (select count(*) from pgrcp.idempotency_keys) as keys`,
      (row) => row,
    ),
  );

test("expired state goes, whoever's it is, and live state stays", async () => {
  await seed(opened.operator, "expired");
  await seed(opened.operator, "live");
  expect(STATE).toHaveLength(4);
  await opened.operator.write(async (transaction) => {
    for (const statement of [
      sql`update pgrcp_state.sessions set expires_at = now() where tenant_id = 'expired'`,
      sql`update pgrcp_state.trajectories set expires_at = now() where tenant_id = 'expired'`,
      sql`update pgrcp_state.ranked_lists set expires_at = now() where tenant_id = 'expired'`,
      sql`update pgrcp.idempotency_keys set expires_at = now() where tenant_id = 'expired'`,
    ])
      await transaction.query(compile(statement, noRows));
  });

  expect(await Array.fromAsync(collect(opened.operator, RETENTION))).toEqual([]);

  expect(await counts()).toEqual([{ sessions: 1, trajectories: 1, lists: 1, keys: 1 }]);
});

test("the operator's command keeps what the configuration says, and tells what went", async () => {
  const tenantId = freshTenant();
  const caller = callerOf(opened.database, tenantId);
  for (const text of ["amber", "basalt", "coral"]) await caller.add([{ id: "a", text }]);
  await opened.admin.query(
    compile(
      sql`update pgrcp.corpus_versions set committed_at = now() - interval '5 hours' where tenant_id = ${tenantId}`,
      noRows,
    ),
  );
  const run = (versionHours: number) =>
    Array.fromAsync(
      runOperatorCommand(
        {
          database: opened.operator,
          config: configSchema.parse({ retention: { versionHours } }),
          withModel: runningModel(testEmbeddingModel()),
        },
        "versions.collect",
        {},
      ),
    );
  expect(await run(6)).toEqual([]);
  expect(await run(4)).toEqual([{ tenant: tenantId, corpus: "default", versions: 2, documents: 2, chunks: 2 }]);
});

test("a round that fails is told, and ending waits for the one that runs", async () => {
  const failures: unknown[] = [];
  const broken: OperatorDatabase = {
    ...opened.operator,
    write: () => Promise.reject(new Error("no database")),
  };
  const end = keepCollecting(broken, RETENTION, (error) => failures.push(error));
  await end();
  expect(failures).toEqual([new Error("no database")]);
});
