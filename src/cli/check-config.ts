import type { Command } from "commander";
import { stringify } from "yaml";
import { ConfigError } from "../config/config-error.ts";
import { printableConfig } from "../config/printable.ts";
import { configWarnings } from "../config/warnings.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";

/** `pgrcp check-config`: the effective configuration on standard output, or what is wrong with it, a line each. */
export function registerCheckConfig(program: Command): void {
  addConfigOption(program.command("check-config"))
    .description("print the effective configuration without secrets")
    .addHelpText("after", "\nExit codes: 0 it can be used (warnings are on standard error), 2 it cannot.")
    .action(async (options: ConfigOption) => {
      try {
        const config = await configOf(options);
        for (const warning of configWarnings(config)) process.stderr.write(`warning: ${warning}\n`);
        process.stdout.write(stringify(printableConfig(config), { lineWidth: 0 }));
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        process.stderr.write(error.problems.map((problem) => `error: ${problem}\n`).join(""));
        process.stderr.write(`remedy: ${error.remedy}\n`);
        process.exitCode = error.exitCode;
      }
    });
}
