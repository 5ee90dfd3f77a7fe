import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import type { AdminConnection } from "../db/admin-connection.ts";
import { hasEmbeddedData } from "../db/data-directory.ts";
import { openEmbedded } from "../db/embedded-database.ts";
import { loginsWithPassword, setLogins } from "../db/logins.ts";
import { type MigrateEvent, type MigrateOptions, type MigrationPlan, migrate, planMigration } from "../db/migrator.ts";
import { openPostgresAdmin } from "../db/operator-database.ts";
import { connectFailure } from "../db/pg-errors.ts";
import { columnValue } from "../plan/check-meta.ts";
import { filterFields } from "../plan/filter-fields.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { showMigration } from "./migrate-progress.ts";
import { createProgress } from "./progress.ts";

interface Options extends ConfigOption {
  readonly plan?: boolean;
  readonly refill?: boolean;
}

/** `pgrcp migrate`: schema, logins and filter columns, up to this program and its configuration. */
export function registerMigrate(program: Command): void {
  addConfigOption(program.command("migrate"))
    .description("bring the database schema up to this version")
    .option("--plan", "print what would run, and run nothing")
    .option("--refill", "look at every stored document again for filter columns that an older server left empty")
    .addHelpText(
      "after",
      `
Safe to run again, and beside a running server: reads go on. What was interrupted goes on where it was.
On Postgres it logs in as database.migrateUrl says: a superuser, or the database's owner with CREATEROLE.
Exit codes: 0 done, 2 configuration, 4 database, 5 done, but some documents have a value that their field's type does not fit.`,
    )
    .action(async (options: Options) => {
      const config = await configOf(options);
      if (isNew(config) && options.plan === true) {
        process.stdout.write("would make a new embedded database and run every migration in it\n");
        return;
      }
      await withAdmin(config, (admin) => run(admin, config, options));
    });
}

/** True when opening the embedded database would make it. */
const isNew = ({ database }: Config): boolean => database.url === undefined && !hasEmbeddedData(database.embeddedDir);

async function withAdmin(config: Config, work: (admin: AdminConnection) => Promise<void>): Promise<void> {
  const { url, migrateUrl } = config.database;
  if (url === undefined) {
    const { admin, database } = await openEmbedded(config);
    return await work(admin).finally(() => database.close());
  }
  if (migrateUrl === undefined) {
    throw new CommandFailure(
      ExitCode.usage,
      "database.migrateUrl is not set",
      "set it to the database's URL with a login that owns the database: PGRCP_DATABASE__MIGRATE_URL=postgres://…",
    );
  }
  const admin = openPostgresAdmin(migrateUrl, config, () => {});
  try {
    await work(admin);
  } catch (error) {
    const { username } = new URL(migrateUrl);
    throw connectFailure(error, { url: migrateUrl, user: username, password: "the password in database.migrateUrl" });
  } finally {
    await admin.close();
  }
}

async function run(admin: AdminConnection, config: Config, { plan, refill }: Options): Promise<void> {
  const options = { fields: filterFields(config.filter.fields), columnValueOf: columnValue, refill: refill === true };
  if (plan === true) {
    process.stdout.write(describe(await planMigration(admin, options), config, options));
    return;
  }
  const progress = createProgress("filling filter columns");
  const report = (event: MigrateEvent) => {
    if (event.kind === "misfit") process.exitCode = ExitCode.partial;
    showMigration(event, progress);
  };
  await migrate(admin, { ...options, report });
  progress.finish();
  if (config.database.url !== undefined) await setLogins(admin, config);
  process.stdout.write("the database is up to date\n");
}

function describe(plan: MigrationPlan, config: Config, { refill }: MigrateOptions): string {
  const { missing, unfinished, unused } = plan.fields;
  const logins = config.database.url === undefined ? [] : loginsWithPassword(config);
  const lines = [
    ...plan.pending.map(({ name }) => `would run ${name}`),
    ...missing.map(({ name }) => `would add, fill and index a column for filter field ${name}`),
    ...unfinished.map(({ name }) => `would go on filling the column of filter field ${name}`),
    ...(refill === true ? ["would look at every stored document again for empty filter columns"] : []),
    ...logins.map((user) => `would set the password of ${user}`),
    ...unused.map((name) => `would leave the column of ${name}, which is no filter field any more, as it is`),
  ];
  return `${lines.length === 0 ? "nothing to do: the database is up to date" : lines.join("\n")}\n`;
}
