import type { FilterFields, TenantId } from "../catalog/corpus.ts";
import type { Observe } from "../observability/observation.ts";
import type { Statement } from "../sql/sql.ts";
import { filterColumnFacts, loginFacts, rightsFacts, serverFacts, tableFacts } from "./catalog-facts.ts";
import { connectFailure } from "./connect-failure.ts";
import type { Database, DatabaseRole } from "./database.ts";
import { checkFields } from "./field-checks.ts";
import type { Finding } from "./finding.ts";
import { checkLogin } from "./login-checks.ts";
import { readMigrations } from "./migrations.ts";
import { PostgresDatabase } from "./postgres-database.ts";
import { checkRights, checkTables, expectedRights } from "./rights-checks.ts";
import { checkPostgresVersion, checkSchemaVersion, checkVectorVersion } from "./server-checks.ts";
import { StartupError } from "./startup-error.ts";

/** What must be true of the database before the server listens (DESIGN section 3). */

const SERVER_ROLES = ["reader", "adder", "deleter", "state"] as const satisfies readonly DatabaseRole[];
const TIMEOUT_MS = 15_000;
const NO_TENANT = "" as TenantId;

/**
 * Refuses a database that would not keep tenants apart, or that this program cannot work with.
 *
 * @throws StartupError for the first thing that is wrong; warnings are observed
 */
export async function selfTest(database: Database, fields: FilterFields, observe: Observe): Promise<void> {
  const findings = await examine(database, fields);
  for (const { severity, line, remedy } of findings) {
    if (severity === "error") throw new StartupError(line, remedy);
    observe({ kind: "warning", text: `${line}: ${remedy}` });
  }
}

/**
 * Everything that is wrong, worst first. The embedded database has one login and no boundary between roles, so there no login is
 * looked at.
 *
 * @throws StartupError when a login gets no connection
 */
export async function examine(database: Database, fields: FilterFields): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const role of database.kind === "embedded" ? [] : SERVER_ROLES) {
    const facts = await ask(database, role, loginFacts(`pgrcp_${role}`));
    findings.push(...facts.flatMap((login) => checkLogin(role, login)));
  }
  return [...findings, ...(await examineCatalog(database, fields))].sort(worstFirst);
}

const worstFirst = (a: Finding, b: Finding): number => Number(b.severity === "error") - Number(a.severity === "error");

/** What any login can tell. Later checks need what the first ones ask for, so an error there ends the list. */
async function examineCatalog(database: Database, fields: FilterFields): Promise<readonly Finding[]> {
  const known = (await readMigrations()).length;
  const findings = (await ask(database, "reader", serverFacts)).flatMap((server) => [
    ...checkPostgresVersion(server),
    ...checkVectorVersion(server),
    ...checkSchemaVersion(server, known),
  ]);
  if (findings.some(({ severity }) => severity === "error")) return findings;
  const tables = await ask(database, "reader", tableFacts);
  return [
    ...findings,
    ...checkTables(tables),
    ...checkRights(await expectedRights(), await ask(database, "reader", rightsFacts), tables),
    ...checkFields(fields, await ask(database, "reader", filterColumnFacts)),
  ];
}

async function ask<Row>(database: Database, role: DatabaseRole, statement: Statement<Row>): Promise<readonly Row[]> {
  const limits = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
  try {
    const [rows] = await database.read(role, NO_TENANT, [statement], limits);
    return rows;
  } catch (error) {
    if (!(database instanceof PostgresDatabase)) throw error;
    const { url, logins } = database;
    throw connectFailure(error, { url, setting: `database.${role}`, user: logins[role].user });
  }
}
