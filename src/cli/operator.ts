import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Config } from "../config/config.ts";
import { hasEmbeddedData } from "../db/data-directory.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { configuredModel } from "../maintenance/configured-model.ts";
import { type ConfigOption, configOf } from "./config-option.ts";
import { askServer } from "./control-socket.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { type OperatorContext, type OperatorRows, runOperatorCommand } from "./operator-commands.ts";
import { databaseFailure } from "./operator-failure.ts";

/** Where an operator command runs: with the operator's login on Postgres; on the embedded database in the server, or here. */

/**
 * The rows of an operator command.
 *
 * @throws CommandFailure with what was wrong and what to do
 */
export async function* operate(options: ConfigOption, command: string, args: object): OperatorRows {
  const config = await configOf(options);
  try {
    yield* config.database.url === undefined
      ? operateEmbedded(config, command, args)
      : operatePostgres(config, config.database.url, command, args);
  } catch (error) {
    throw databaseFailure(error);
  }
}

async function* operatePostgres(config: Config, url: string, command: string, args: object): OperatorRows {
  const { openPostgresOperator } = await import("../db/operator-database.ts");
  const { connectFailure } = await import("../db/pg-errors.ts");
  const database = openPostgresOperator(url, config, () => {});
  try {
    await checkSchema(database).catch((error: unknown) => {
      throw connectFailure(error, { url, user: config.database.operator.user, password: "database.operator.password" });
    });
    yield* runOperatorCommand(contextOf(config, database), command, args);
  } finally {
    await database.close();
  }
}

/** @throws StartupError when the database has another schema than this program works with */
async function checkSchema(database: OperatorDatabase): Promise<void> {
  const [{ serverFacts }, { checkSchemaVersion }, { readMigrations }, { StartupError }] = await Promise.all([
    import("../db/catalog-facts.ts"),
    import("../db/server-checks.ts"),
    import("../db/migrations.ts"),
    import("../db/startup-error.ts"),
  ]);
  const known = (await readMigrations()).length;
  const findings = (await database.read(serverFacts)).flatMap((facts) => checkSchemaVersion(facts, known));
  for (const { line, remedy } of findings) throw new StartupError(line, remedy);
}

async function* operateEmbedded(config: Config, command: string, args: object): OperatorRows {
  const answered = await askServer(config, command, args);
  if (answered !== undefined) return yield* answered;
  // Opening would make an empty database, which nobody asked for.
  const folder = config.database.embeddedDir;
  if (!hasEmbeddedData(folder)) {
    const remedy = "start the server once (npm start), or set database.url or database.embeddedDir";
    throw new CommandFailure(ExitCode.database, `there is no database in ${folder}`, remedy);
  }
  const { openEmbedded } = await import("../db/embedded-database.ts");
  const { database, operator } = await openEmbedded(config);
  try {
    await checkSchema(operator);
    yield* runOperatorCommand(contextOf(config, operator), command, args);
  } finally {
    await database.close();
  }
}

const contextOf = (config: Config, database: OperatorDatabase): OperatorContext => ({
  database,
  config,
  withModel: configuredModel(config),
});

/**
 * Rows for a script: one JSON object a line, written as they come.
 *
 * @param output left open when it is standard output
 * @returns how many there were
 */
export async function printJsonLines(rows: OperatorRows, output: Writable = process.stdout): Promise<number> {
  let count = 0;
  async function* lines() {
    for await (const row of rows) {
      count += 1;
      yield `${JSON.stringify(row)}\n`;
    }
  }
  await pipeline(lines, output, { end: output !== process.stdout });
  return count;
}
