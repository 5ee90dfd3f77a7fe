import { setTimeout as sleep } from "node:timers/promises";
import { compile, sql } from "../../../src/sql/sql.ts";
import { openTestDatabase } from "../database.ts";
import { readCorpusRows } from "./corpus-rows.ts";
import type { Deployment } from "./deployment.ts";
import { PostgresRelay } from "./postgres-relay.ts";

const ROLES = ["reader", "adder", "deleter", "state"] as const;
const LOGINS = ROLES.map((role) => `pgrcp_${role}`);

/** Connections that the killed server has left behind and that Postgres has not ended yet. */
const LEFT_BEHIND = compile(
  sql`select count(*) as count from pg_stat_activity where datname = current_database()
and usename = any(${LOGINS}::text[])`,
  (row) => row.count as number,
);

/** A database of its own on the cluster of `PGRCP_TEST_DATABASE_URL`, reached through a relay. */
export async function postgresDeployment(): Promise<Deployment> {
  const db = await openTestDatabase();
  const { config, admin } = db;
  const url = new URL(config.database.url ?? "");
  const relay = await PostgresRelay.open({ host: url.hostname, port: Number(url.port || 5432) });
  url.host = `127.0.0.1:${relay.port}`;
  const logins = Object.fromEntries(ROLES.map((role) => [role, config.database[role]]));
  return {
    kind: "postgres",
    settings: { ...logins, url: url.href },
    env: {},
    async killAtCommit(point, kill) {
      relay.killAtCommit(point, kill);
    },
    async snapshot(isDead) {
      while (isDead && (await admin.query(LEFT_BEHIND))[0] !== 0) await sleep(20);
      const rows = await readCorpusRows(admin);
      return async () => rows;
    },
    async close() {
      await relay.close();
      await db.close();
    },
  };
}
