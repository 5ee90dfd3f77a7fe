import pg from "pg";
import type { FilterFields } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { Statement } from "../sql/sql.ts";
import type { AdminConnection } from "./admin-connection.ts";
import { runBatch } from "./batch.ts";
import { filterColumnFacts, loginFacts, rightsFacts, serverFacts, tableFacts } from "./catalog-facts.ts";
import { connectFailure } from "./connect-failure.ts";
import type { DatabaseRole } from "./database.ts";
import { checkFields } from "./field-checks.ts";
import type { Finding } from "./finding.ts";
import { checkLogin } from "./login-checks.ts";
import { readMigrations } from "./migrations.ts";
import { connectionOf } from "./pools.ts";
import { checkRights, checkTables, expectedRights } from "./rights-checks.ts";
import { checkPostgresVersion, checkSchemaVersion, checkVectorVersion } from "./server-checks.ts";

/** What must be true of the database before the server listens (DESIGN section 3). */

export const SERVER_ROLES = ["reader", "adder", "deleter", "state"] as const satisfies readonly DatabaseRole[];

type Ask = <Row>(statement: Statement<Row>) => Promise<readonly Row[]>;

/**
 * Everything that can be told from the catalog, by any login. Later checks need what earlier ones ask for, so an error ends the list.
 */
export async function testCatalog(ask: Ask, fields: FilterFields): Promise<readonly Finding[]> {
  const [server] = await ask(serverFacts);
  if (server === undefined) throw new Error("the database answers a query that has a row with none");
  const findings = [
    ...checkPostgresVersion(server),
    ...checkVectorVersion(server),
    ...checkSchemaVersion(server, (await readMigrations()).length),
  ];
  if (findings.some(({ severity }) => severity === "error")) return findings;
  const tables = await ask(tableFacts);
  return [
    ...findings,
    ...checkTables(tables),
    ...checkRights(await expectedRights(), await ask(rightsFacts), tables),
    ...checkFields(fields, await ask(filterColumnFacts)),
  ];
}

/** The embedded database has one login and no boundary between roles, so there is no login to check. */
export const testEmbedded = (admin: AdminConnection, fields: FilterFields): Promise<readonly Finding[]> =>
  testCatalog((statement) => admin.query(statement), fields);

/**
 * Logs in as each of the server's roles and looks at what that login is, then at the catalog.
 *
 * @throws StartupError when a login gets no connection
 */
export async function testPostgres(url: string, config: Config, fields: FilterFields): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const role of SERVER_ROLES) {
    findings.push(
      ...(await asRole(url, config, role, async (ask) => {
        const [facts] = await ask(loginFacts(`pgrcp_${role}`));
        return facts === undefined ? [] : checkLogin(role, facts);
      })),
    );
  }
  findings.push(...(await asRole(url, config, "reader", (ask) => testCatalog(ask, fields))));
  return findings;
}

async function asRole<Result>(
  url: string,
  { database }: Config,
  role: DatabaseRole,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const login = database[role];
  const client = new pg.Client({ ...connectionOf(url, login), connectionTimeoutMillis: database.connectTimeoutMs });
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => {});
    throw connectFailure(error, url, `database.${role}`, login.user);
  }
  try {
    return await work(async (statement) => {
      const [rows] = await runBatch(client, [statement]);
      return (rows ?? []).map(statement.decode);
    });
  } finally {
    await client.end();
  }
}
