import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { hasEmbeddedData } from "../db/data-directory.ts";
import type { Database } from "../db/database.ts";
import { openEmbedded } from "../db/embedded-database.ts";
import { error, type Finding, warning } from "../db/finding.ts";
import { PostgresDatabase } from "../db/postgres-database.ts";
import { type Check, examine } from "../db/self-test.ts";
import { ENVIRONMENT_CHECKS } from "../environment-checks.ts";
import { filterFields } from "../plan/filter-fields.ts";
import { checkPort } from "./check-port.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";
import { askServer } from "./control-socket.ts";
import { ExitCode, toFailure } from "./exit.ts";

/** A check, and how the process ends when it is the first to find an error. */
interface Examined extends Check {
  readonly exitCode: number;
}

/** `pgrcp doctor`: the checks of a start, all of them, without starting. */
export function registerDoctor(program: Command): void {
  addConfigOption(program.command("doctor"))
    .description("check what the server needs and say what is missing")
    .addHelpText(
      "after",
      `
Beside a server that runs on the embedded database it checks all but that database, which the server has open.
Exit codes: 0 the server would start (warnings are listed), 2 configuration, 4 database, 6 this machine.`,
    )
    .action(async (option: ConfigOption) => {
      const examined = await diagnose(await configOf(option));
      process.stdout.write(report(examined));
      const failed = examined.find(({ findings }) => findings.some(({ severity }) => severity === "error"));
      if (failed !== undefined) process.exitCode = failed.exitCode;
    });
}

async function diagnose(config: Config): Promise<readonly Examined[]> {
  const one = (name: string, look: (config: Config) => Promise<readonly Finding[]>) =>
    orFinding(name, async () => [{ name, findings: await look(config) }]);
  const examined: Examined[] = [];
  for (const { name, look } of ENVIRONMENT_CHECKS) examined.push(...(await one(name, look)));
  examined.push(...(await one("port", ({ server }) => checkPort(server))));
  return [...examined, ...(await orFinding("database", () => examineDatabase(config)))];
}

/** An expected failure of the checks is what they find. */
async function orFinding(name: string, look: () => Promise<readonly Check[]>): Promise<readonly Examined[]> {
  try {
    return (await look()).map((check) => ({ ...check, exitCode: ExitCode.database }));
  } catch (thrown) {
    const failure = toFailure(thrown);
    if (failure.exitCode === ExitCode.failure) throw thrown;
    const lines = failure instanceof ConfigError ? failure.problems : [failure.message];
    const findings = lines.map((line) => error(line, failure.remedy ?? ""));
    return [{ name, findings, exitCode: failure.exitCode }];
  }
}

async function examineDatabase(config: Config): Promise<readonly Check[]> {
  const { url, embeddedDir } = config.database;
  if (url === undefined) {
    const finding = await embeddedUnopened(config, embeddedDir);
    if (finding !== undefined) return [{ name: "database", findings: [finding] }];
  }
  const database = await open(config);
  try {
    return await examine(database, filterFields(config.filter.fields), config.database.trustedRoutines);
  } finally {
    await database.close();
  }
}

/** Why the embedded database is not opened for a look: it is not there yet, or a server has it. */
async function embeddedUnopened(config: Config, folder: string): Promise<Finding | undefined> {
  if (!hasEmbeddedData(folder)) {
    return warning(`there is no embedded database in ${folder} yet`, "`pgrcp serve` makes it");
  }
  const answer = await askServer(config, "tenants.list", {});
  if (answer === undefined) return undefined;
  await Array.fromAsync(answer);
  return warning(
    `a server has the database in ${folder} open: it checked it when it started, and it answers from it now`,
    "stop the server to have the database checked again",
  );
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
