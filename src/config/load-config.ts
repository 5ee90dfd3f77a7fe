import { existsSync } from "node:fs";
import type { z } from "zod";
import { type Config, configSchema } from "./config.ts";
import { ConfigError, dotted, type Problem } from "./config-error.ts";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { CROSS_CHECKS } from "./cross-checks.ts";
import { describeIssue } from "./describe-issue.ts";
import { CONFIG_FILE_VARIABLE, type EnvironmentSetting, readEnvironment } from "./environment.ts";
import { withSampleFields } from "./first-run-fields.ts";
import { dropEmptySections, isRecord, overlay } from "./overlay.ts";
import { pruneIssues } from "./prune-issues.ts";
import { runRules } from "./rules.ts";

const DEFAULT_CONFIG_FILE = "config.yaml";

/**
 * The configuration: defaults, overlaid by the file, overlaid by `PGRCP_…` variables.
 *
 * @param source.file the YAML file; when absent, the one that `PGRCP_CONFIG` names, or `config.yaml` here if there is one
 * @throws ConfigError with everything that is wrong at once
 */
export async function loadConfig(source: { file?: string | undefined; env: NodeJS.ProcessEnv }): Promise<Config> {
  const name = source.file ?? source.env[CONFIG_FILE_VARIABLE] ?? defaultFile();
  const file = await readConfigFile(name);
  const problems = [...file.problems];
  const input = isRecord(file.value) ? file.value : {};
  if (file.value !== undefined && file.value !== null && !isRecord(file.value))
    problems.push(`${name}: must be sections of keys, such as server: and auth:`);
  dropEmptySections(input, configSchema);
  const environment = readEnvironment(source.env, configSchema);
  problems.push(...environment.problems, ...overlay(input, environment.settings, configSchema));

  const { config, found } = validate(input);
  const place = (problem: Problem) => placed(problem, name, file, environment.settings);
  problems.push(...found.map(place));
  if (config === undefined || problems.length > 0) throw new ConfigError(problems);
  return withSampleFields(config);
}

/** Checks against the schema, and then across keys as far as the keys are sound. */
function validate(input: Record<string, unknown>): { config: Config | undefined; found: Problem[] } {
  const found = protoFields(input);
  const parsed = configSchema.safeParse(input);
  if (parsed.success) return { config: parsed.data, found: [...found, ...runRules(CROSS_CHECKS, parsed.data)] };
  found.push(...parsed.error.issues.flatMap((issue: z.core.$ZodIssue) => describeIssue(issue, input, configSchema)));
  const rest = pruneIssues(input, parsed.error.issues);
  if (rest !== undefined) found.push(...runRules(CROSS_CHECKS, rest.config, rest.pruned));
  return { config: undefined, found };
}

/** zod leaves a field of this name out without a word. */
function protoFields({ filter }: Record<string, unknown>): Problem[] {
  const fields = isRecord(filter) ? filter.fields : undefined;
  if (!isRecord(fields) || !Object.hasOwn(fields, "__proto__")) return [];
  return [{ path: ["filter", "fields", "__proto__"], text: "cannot be a field's name; rename it" }];
}

/** A problem with the variable or the line that it comes from. */
function placed(
  { path, text }: Problem,
  name: string | undefined,
  file: ConfigFile,
  settings: readonly EnvironmentSetting[],
): string {
  const key = dotted(path);
  const setting = settings.findLast((each) => each.path.every((part, index) => path[index] === part));
  if (setting !== undefined) return `${setting.variable} (${key}): ${text}`;
  const line = file.lineOf(path);
  return line === undefined ? `${key}: ${text}` : `${key} (${name} line ${line}): ${text}`;
}

const defaultFile = () => (existsSync(DEFAULT_CONFIG_FILE) ? DEFAULT_CONFIG_FILE : undefined);
