import { createHash, randomBytes } from "node:crypto";
import { type Config, configSchema } from "../../../src/config/config.ts";
import type { AdminConnection } from "../../../src/db/admin-connection.ts";
import type { Database, OperatorDatabase } from "../../../src/db/database.ts";
import { readMigrations } from "../../../src/db/migrations.ts";
import { migrate } from "../../../src/db/migrator.ts";
import { openPostgresAdmin, openPostgresOperator } from "../../../src/db/operator-database.ts";
import { PostgresDatabase } from "../../../src/db/postgres-database.ts";
import type { Observe } from "../../../src/observability/observation.ts";
import { compile, identifier, noRows, type Sql, sql } from "../../../src/sql/sql.ts";

/** One migrated database per set of migrations; each test file gets a copy, which costs Postgres some 50 ms. */

/** Roles belong to the cluster, so every test run there has the same password for them. */
export const PASSWORD = "test-only";
const ROLES = ["reader", "adder", "deleter", "state", "operator"] as const;
/** One template builder at a time in a cluster. Any number that no one else uses. */
const BUILD_LOCK = 482_804_069_233n;

const ignore: Observe = () => {};
const plain = configSchema.parse({});
const run = (admin: AdminConnection, statement: Sql) => admin.query(compile(statement, noRows));

function inDatabase(url: string, name: string): string {
  const target = new URL(url);
  target.pathname = `/${name}`;
  return target.href;
}

/** What a copy does not take from its template. */
async function grantConnections(admin: AdminConnection, name: string): Promise<void> {
  const database = identifier(name);
  await run(admin, sql`revoke all on database ${database} from public`);
  for (const role of ROLES)
    await run(admin, sql`grant connect on database ${database} to ${identifier(`pgrcp_${role}`)}`);
}

async function build(admin: AdminConnection, url: string, name: string): Promise<void> {
  const unfinished = identifier(`${name}_unfinished`);
  await run(admin, sql`drop database if exists ${unfinished} with (force)`);
  await run(admin, sql`create database ${unfinished}`);
  const inside = openPostgresAdmin(inDatabase(url, `${name}_unfinished`), plain, ignore);
  try {
    await migrate(inside, { fields: new Map(), columnValueOf: () => null });
    for (const role of ROLES) {
      await inside.transaction((transaction) => transaction.script(`alter role pgrcp_${role} password '${PASSWORD}'`));
    }
  } finally {
    await inside.close();
  }
  await run(admin, sql`alter database ${unfinished} rename to ${identifier(name)}`);
}

async function template(admin: AdminConnection, url: string): Promise<string> {
  const hash = createHash("sha256");
  for (const { checksum } of await readMigrations()) hash.update(checksum);
  const name = `pgrcp_template_${hash.digest("hex").slice(0, 12)}`;
  const exists = compile(sql`select from pg_database where datname = ${name}`, noRows);
  await run(admin, sql`select pg_advisory_lock(${BUILD_LOCK}::bigint)`);
  try {
    if ((await admin.query(exists)).length === 0) await build(admin, url, name);
  } finally {
    await run(admin, sql`select pg_advisory_unlock(${BUILD_LOCK}::bigint)`);
  }
  return name;
}

export interface PostgresCopy {
  readonly database: Database;
  readonly operator: OperatorDatabase;
  readonly admin: AdminConnection;
  readonly config: Config;
  close(): Promise<void>;
}

/**
 * The server's logins go through `PGRCP_TEST_POOLER_URL` where that is set; whoever makes and looks never does.
 *
 * @param url a superuser's, in any database of the cluster
 */
export async function openPostgresCopy(
  url: string,
  settings: Partial<Config["database"]>,
  observe: Observe,
): Promise<PostgresCopy> {
  const outside = openPostgresAdmin(url, plain, ignore);
  const name = `pgrcp_test_${randomBytes(6).toString("hex")}`;
  await run(outside, sql`create database ${identifier(name)} template ${identifier(await template(outside, url))}`);
  await grantConnections(outside, name);

  const here = inDatabase(process.env.PGRCP_TEST_POOLER_URL ?? url, name);
  const direct = inDatabase(url, name);
  const logins = Object.fromEntries(ROLES.map((role) => [role, { password: PASSWORD }]));
  const config = configSchema.parse({ database: { url: here, migrateUrl: direct, ...logins, ...settings } });
  const database = new PostgresDatabase(here, config, observe);
  const operator = openPostgresOperator(here, config, observe);
  const admin = openPostgresAdmin(direct, config, observe);
  return {
    database,
    operator,
    admin,
    config,
    async close() {
      await Promise.all([database.close(), operator.close(), admin.close()]);
      await run(outside, sql`drop database ${identifier(name)} with (force)`);
      await outside.close();
    },
  };
}
