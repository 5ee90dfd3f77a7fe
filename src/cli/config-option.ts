import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";

/** What every command that reads the configuration shares. */
export interface ConfigOption {
  readonly config?: string;
}

export const addConfigOption = (command: Command): Command =>
  command.option("--config <file>", "YAML file; otherwise PGRCP_CONFIG, or config.yaml here if there is one");

/** @throws ConfigError with everything that is wrong at once */
export const configOf = ({ config }: ConfigOption): Promise<Config> => loadConfig({ file: config, env: process.env });
