import type { FilterFields, TenantId } from "../catalog/corpus.ts";
import type { Observe } from "../observability/observation.ts";
import type { Statement } from "../sql/sql.ts";
import { checkDefiner, checkLeakproof, checkStray, checkView } from "./bypass-checks.ts";
import { definerFacts, leakproofFacts, strayFacts, viewFacts } from "./bypass-facts.ts";
import { filterColumnFacts, loginFacts, rightsFacts, serverFacts, tableFacts } from "./catalog-facts.ts";
import type { Access, Database, DatabaseRole } from "./database.ts";
import { checkFields } from "./field-checks.ts";
import { error, type Finding } from "./finding.ts";
import { checkLogin, LOGIN_SETTINGS } from "./login-checks.ts";
import { readMigrations } from "./migrations.ts";
import { connectFailure, isRoleMissing } from "./pg-errors.ts";
import { PostgresDatabase } from "./postgres-database.ts";
import { checkReplica } from "./replica-checks.ts";
import { checkRights, checkTables, expectedRights } from "./rights-checks.ts";
import { checkEncoding, checkPostgresVersion, checkSchemaVersion, checkVectorVersion } from "./server-checks.ts";
import { StartupError } from "./startup-error.ts";

/** What must be true of the database before the server listens (DESIGN section 3). */

const SERVER_ROLES = ["reader", "adder", "deleter", "state"] as const satisfies readonly DatabaseRole[];
const TIMEOUT_MS = 15_000;
const NOBODY: Access = { tenantId: "" as TenantId, credentials: new Set() };

/** One thing that was looked at, and what is wrong with it. */
export interface Check {
  readonly name: string;
  readonly findings: readonly Finding[];
}

/**
 * Refuses a database that would not keep tenants apart, or that this program cannot work with.
 *
 * @throws StartupError for the first thing that is wrong; warnings are observed
 */
export async function selfTest(
  database: Database,
  fields: FilterFields,
  observe: Observe,
  trustedRoutines: readonly string[] = [],
): Promise<void> {
  const findings = (await examine(database, fields, trustedRoutines)).flatMap((check) => check.findings);
  for (const { severity, line, remedy } of findings) {
    if (severity === "error") throw new StartupError(line, remedy);
    observe({ kind: "warning", text: `${line}: ${remedy}` });
  }
}

/**
 * Every check that can be made: a later one needs what an earlier one asks for. The embedded database has one login and no boundary
 * between roles, so there no login is looked at.
 *
 * @param trustedRoutines of the configuration: these are warned of instead of refused
 */
export async function examine(
  database: Database,
  fields: FilterFields,
  trustedRoutines: readonly string[] = [],
): Promise<readonly Check[]> {
  const roles = database.kind === "embedded" ? [] : SERVER_ROLES;
  const logins = await Promise.all(roles.map((role) => check(`login ${role}`, () => checkRole(database, role))));
  if (logins.some(hasError)) return logins;
  const versions = await check("versions", () => checkVersions(database));
  if (hasError(versions)) return [...logins, versions];
  const security = await check("policies and grants", () => checkSecurity(database));
  const bypasses = await check("ways around them", () => checkBypasses(database, trustedRoutines));
  const columns = await check("filter columns", () => checkColumns(database, fields));
  return [...logins, versions, security, bypasses, columns, ...(await checkReplicas(database))];
}

const hasError = ({ findings }: Check): boolean => findings.some(({ severity }) => severity === "error");

/** What keeps a check from being made is what it finds. */
async function check(name: string, look: () => Promise<readonly Finding[]>): Promise<Check> {
  try {
    return { name, findings: await look() };
  } catch (failure) {
    if (!(failure instanceof StartupError)) throw failure;
    return { name, findings: [error(failure.message, failure.remedy)] };
  }
}

async function checkRole(database: Database, role: DatabaseRole): Promise<readonly Finding[]> {
  const facts = await ask(database, role, loginFacts(`pgrcp_${role}`, Object.keys(LOGIN_SETTINGS[role])));
  return facts.flatMap((row) => checkLogin(role, row));
}

async function checkVersions(database: Database): Promise<readonly Finding[]> {
  const known = (await readMigrations()).length;
  return (await ask(database, "reader", serverFacts)).flatMap((server) => [
    ...checkPostgresVersion(server),
    ...checkEncoding(server),
    ...checkVectorVersion(server),
    ...checkSchemaVersion(server, known),
  ]);
}

async function checkSecurity(database: Database): Promise<readonly Finding[]> {
  const tables = await ask(database, "reader", tableFacts);
  const found = await ask(database, "reader", rightsFacts);
  return [...checkTables(tables), ...checkRights(await expectedRights(), found, tables)];
}

async function checkBypasses(database: Database, trusted: readonly string[]): Promise<readonly Finding[]> {
  const users = SERVER_ROLES.map((role) =>
    database instanceof PostgresDatabase ? database.logins[role].user : `pgrcp_${role}`,
  );
  return [
    ...(await ask(database, "reader", definerFacts(users))).map((facts) => checkDefiner(facts, trusted)),
    ...(await ask(database, "reader", viewFacts(users))).map(checkView),
    ...(await ask(database, "reader", strayFacts)).map(checkStray),
    ...(await ask(database, "reader", leakproofFacts(users))).map(checkLeakproof),
  ];
}

async function checkColumns(database: Database, fields: FilterFields): Promise<readonly Finding[]> {
  return checkFields(fields, await ask(database, "reader", filterColumnFacts));
}

async function checkReplicas(database: Database): Promise<readonly Check[]> {
  if (!(database instanceof PostgresDatabase)) return [];
  const asked = <Row>(statement: Statement<Row>) => ask(database, "reader", statement);
  const look = database.replicas.map((one) =>
    check(`replica ${one.place}`, () => checkReplica(one, asked, TIMEOUT_MS)),
  );
  return await Promise.all(look);
}

async function ask<Row>(database: Database, role: DatabaseRole, statement: Statement<Row>): Promise<readonly Row[]> {
  const limits = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
  try {
    const [rows] = await database.read(role, NOBODY, [statement], limits);
    return rows;
  } catch (failure) {
    if (isRoleMissing(failure)) throw new StartupError("the database has no pgrcp schema", "run `pgrcp migrate`");
    if (!(database instanceof PostgresDatabase)) throw failure;
    const { url, logins } = database;
    throw connectFailure(failure, { url, user: logins[role].user, password: `database.${role}.password` });
  }
}
