import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { hasEmbeddedData } from "../db/data-directory.ts";
import type { Database } from "../db/database.ts";
import { openEmbedded } from "../db/embedded-database.ts";
import { PostgresDatabase } from "../db/postgres-database.ts";
import { type Check, examine } from "../db/self-test.ts";
import { filterFields } from "../plan/filter-fields.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";
import { ExitCode } from "./exit.ts";

/** `pgrcp doctor`: the checks of a start, all of them, without starting. */
export function registerDoctor(program: Command): void {
  addConfigOption(program.command("doctor"))
    .description("check what the server needs and say what is missing")
    .addHelpText("after", "\nExit codes: 0 the server would start (warnings are listed), 2 configuration, 4 database.")
    .action(async (options: ConfigOption) => {
      const config = await configOf(options);
      const checks = await diagnose(config);
      process.stdout.write(report(checks));
      const failed = checks.some(({ findings }) => findings.some(({ severity }) => severity === "error"));
      if (failed) process.exitCode = ExitCode.database;
    });
}

async function diagnose(config: Config): Promise<readonly Check[]> {
  const { url, embeddedDir } = config.database;
  if (url === undefined && !hasEmbeddedData(embeddedDir)) {
    const line = `there is no embedded database in ${embeddedDir} yet`;
    return [{ name: "database", findings: [{ severity: "warning", line, remedy: "`pgrcp serve` makes it" }] }];
  }
  const database = await open(config);
  try {
    return await examine(database, filterFields(config.filter.fields));
  } finally {
    await database.close();
  }
}

async function open(config: Config): Promise<Database> {
  if (config.database.url !== undefined) return new PostgresDatabase(config.database.url, config, () => {});
  return (await openEmbedded(config)).database;
}

/** A row per check; below it what is wrong, and what to do about it. */
function report(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks
    .map(({ name, findings }) => {
      const worst = findings.find(({ severity }) => severity === "error") ?? findings[0];
      const details = findings.map(({ line, remedy }) => `  ${line}\n  remedy: ${remedy}\n`);
      return `${name.padEnd(width)}  ${worst?.severity ?? "ok"}\n${details.join("")}`;
    })
    .join("");
}
