import type { Config } from "./config.ts";
import { dotted, type Problem } from "./config-error.ts";

/** A check over several keys. It is left out when one of the keys it reads is already wrong by itself. */
export interface Rule {
  /** Dotted keys or sections. */
  readonly reads: readonly string[];
  readonly find: (config: Config) => readonly Problem[];
}

/** Runs the rules whose keys are all sound. */
export function runRules(
  rules: readonly Rule[],
  config: Config,
  unsound: readonly (readonly (string | number)[])[] = [],
): Problem[] {
  const bad = unsound.map(dotted);
  const touches = (key: string) =>
    bad.some(
      (path) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`) || key.startsWith(`${path}.`),
    );
  return rules.filter((rule) => !rule.reads.some(touches)).flatMap((rule) => rule.find(config));
}

/** A problem when the condition holds, and none otherwise. */
export function when(condition: boolean, path: string, text: string): Problem[] {
  return condition ? [{ path: path.split("."), text }] : [];
}
