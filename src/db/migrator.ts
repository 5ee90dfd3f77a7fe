import { setTimeout as sleep } from "node:timers/promises";
import type { FilterFields } from "../catalog/corpus.ts";
import { compile, literal, noRows, sql } from "../sql/sql.ts";
import type { AdminConnection, AdminTransaction } from "./admin-connection.ts";
import { type ColumnValueOf, type Misfit, prepareFields } from "./backfill.ts";
import { serverFacts } from "./catalog-facts.ts";
import { type FieldPlan, planFields } from "./filter-columns.ts";
import { type Migration, readMigrations } from "./migrations.ts";
import { checkEncoding, checkPostgresVersion, checkVectorVersion, schemaComment } from "./server-checks.ts";
import { StartupError } from "./startup-error.ts";

/** What `migrate` tells while it works. */
export type MigrateEvent =
  | { readonly kind: "waiting" }
  | { readonly kind: "migration"; readonly name: string }
  | { readonly kind: "field"; readonly name: string; readonly step: "column" | "index" | "ready" }
  | { readonly kind: "backfill"; readonly fields: readonly string[]; readonly done: number; readonly total: number }
  | { readonly kind: "misfit"; readonly misfit: Misfit };

export interface MigrateOptions {
  /** From the configuration. */
  readonly fields: FilterFields;
  readonly columnValueOf: ColumnValueOf;
  readonly report?: (event: MigrateEvent) => void;
  /** Looks at every stored document again: for those that a server with an older configuration wrote meanwhile. */
  readonly refill?: boolean;
  readonly migrations?: readonly Migration[];
}

export interface MigrationPlan {
  readonly pending: readonly Migration[];
  readonly fields: FieldPlan;
}

/** "pgrcp" in ASCII: one migrator at a time in a database. */
const LOCK = 482_804_069_232n;
const MIGRATE_REMEDY = "install the pgrcp version that made this schema, or a newer one";

const historyExists = compile(
  sql`select to_regclass('pgrcp_admin.migrations') is not null as found`,
  (row) => row.found,
);

/** @returns undefined in a database where nothing has run yet */
async function appliedOf(admin: Pick<AdminConnection, "query">): Promise<ReadonlyMap<number, string> | undefined> {
  const [found] = await admin.query(historyExists);
  if (found !== true) return undefined;
  const rows = await admin.query(
    compile(
      sql`select version, checksum from pgrcp_admin.migrations`,
      (row) => row as { version: number; checksum: string },
    ),
  );
  return new Map(rows.map(({ version, checksum }) => [version, checksum]));
}

/**
 * What `migrate` would do.
 *
 * @throws StartupError when the database is newer than this program, when a migration that ran was edited since, or when a field
 *   has changed its type
 */
export async function planMigration(admin: AdminConnection, options: MigrateOptions): Promise<MigrationPlan> {
  await checkPrerequisites(admin);
  return await compare(admin, options);
}

/** This program and its configuration against what the database says of itself. */
async function compare(admin: AdminConnection, options: MigrateOptions): Promise<MigrationPlan> {
  const migrations = options.migrations ?? (await readMigrations());
  const applied = await appliedOf(admin);
  const newest = Math.max(0, ...(applied?.keys() ?? []));
  if (newest > migrations.length) {
    throw new StartupError(
      `the database has schema version ${newest}, and this program knows ${migrations.length}`,
      MIGRATE_REMEDY,
    );
  }
  for (const { version, name, checksum } of migrations) {
    const before = applied?.get(version);
    if (before !== undefined && before !== checksum) {
      throw new StartupError(`migration ${name} is not the one that ran in this database`, MIGRATE_REMEDY);
    }
  }
  const pending = migrations.filter(({ version }) => applied?.get(version) === undefined);
  return { pending, fields: await planFields(admin, options.fields, applied !== undefined) };
}

/**
 * Brings the schema and the filter columns up to this program and its configuration. Safe to run again, and to run beside a
 * server: reads go on. What was interrupted goes on where it was.
 */
export async function migrate(admin: AdminConnection, options: MigrateOptions): Promise<MigrationPlan> {
  // Every start on the embedded database comes here, and nearly all of them find nothing to do: three quick queries then.
  const seen = await compare(admin, options);
  if (isDone(seen) && options.refill !== true) return seen;
  await lock(admin, options.report);
  try {
    const plan = await planMigration(admin, options);
    for (const migration of plan.pending) {
      options.report?.({ kind: "migration", name: migration.name });
      await apply(admin, migration);
    }
    await prepareFields(admin, options);
    return plan;
  } finally {
    await admin.query(compile(sql`select pg_advisory_unlock(${LOCK}::bigint)`, noRows)).catch(() => {});
  }
}

const isDone = ({ pending, fields }: MigrationPlan): boolean =>
  pending.length === 0 && fields.missing.length === 0 && fields.unfinished.length === 0;

/** Before anything is changed: what no migration can bring. */
async function checkPrerequisites(admin: AdminConnection): Promise<void> {
  const [server] = await admin.query(serverFacts);
  const [available] = await admin.query(availableVector);
  if (server === undefined || available === undefined) return;
  const vectorVersion = server.vectorVersion ?? available.version ?? undefined;
  const [first] = [
    ...checkPostgresVersion(server),
    ...checkEncoding(server),
    ...checkVectorVersion({ vectorVersion }),
  ].filter(({ severity }) => severity === "error");
  if (first !== undefined) throw new StartupError(first.line, first.remedy);
  if (server.vectorVersion === undefined && !available.mayCreate) {
    const remedy = "as a superuser, run `create extension vector` in that database once, then `pgrcp migrate` again";
    throw new StartupError("this login may not create the extension pgvector", remedy);
  }
}

const availableVector = compile(
  sql`select (select default_version from pg_available_extensions where name = 'vector') as version,
  (select rolsuper from pg_roles where rolname = current_user)
    or exists (select from pg_available_extension_versions where name = 'vector' and trusted) as may_create`,
  (row) => ({ version: row.version as string | null, mayCreate: row.may_create as boolean }),
);

async function lock(admin: AdminConnection, report: MigrateOptions["report"]): Promise<void> {
  const attempt = compile(sql`select pg_try_advisory_lock(${LOCK}::bigint) as taken`, (row) => row.taken === true);
  for (let waited = false; ; waited = true) {
    const [taken] = await admin.query(attempt);
    if (taken === true) return;
    if (!waited) report?.({ kind: "waiting" });
    await sleep(250);
  }
}

async function apply(admin: AdminConnection, { version, name, checksum, text }: Migration): Promise<void> {
  try {
    await admin.transaction(async (transaction) => {
      // The lock above is the session's, and a session can be lost.
      if ((await appliedOf(transaction))?.has(version) === true) return;
      await findVectorTypes(transaction);
      await transaction.script(text);
      await transaction.script("set local role pgrcp_owner");
      await transaction.query(
        compile(
          sql`insert into pgrcp_admin.migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`,
          noRows,
        ),
      );
      // Every login can read a comment, so a server can compare versions without a right on any table.
      await transaction.query(compile(sql`comment on schema pgrcp is ${literal(schemaComment(version))}`, noRows));
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(
      `migration ${name} failed and changed nothing: ${reason}`,
      "put right what it says and run `pgrcp migrate` again",
      undefined,
      { cause },
    );
  }
}

/** A provider may have put the extension into a schema of its own. */
async function findVectorTypes(transaction: AdminTransaction): Promise<void> {
  await transaction.query(
    compile(
      sql`select set_config('search_path', quote_ident(n.nspname), true) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'`,
      noRows,
    ),
  );
}
