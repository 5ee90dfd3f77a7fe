import { ExitCode, ExpectedFailure } from "../protocol/failure.ts";

/** One thing that is wrong with the configuration. */
export interface Problem {
  /** Keys from the top, list indexes as numbers. */
  readonly path: readonly (string | number)[];
  /** What is wrong and what would be right, without the value: it may be a secret. */
  readonly text: string;
}

/** A configuration that cannot be used. Holds every problem that was found, one readable line each. */
export class ConfigError extends ExpectedFailure {
  override readonly name = "ConfigError";
  readonly exitCode = ExitCode.usage;
  readonly remedy = "correct the keys named above; config.example.yaml explains each";
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(`the configuration has ${count}:\n${problems.map((line) => `  - ${line}`).join("\n")}`, options);
    this.problems = problems;
  }
}

/** A path as people write it: `auth.issuers[0].secret`. */
export function dotted(path: readonly (string | number)[]): string {
  return path.map((part, at) => (typeof part === "number" ? `[${part}]` : at === 0 ? part : `.${part}`)).join("");
}
