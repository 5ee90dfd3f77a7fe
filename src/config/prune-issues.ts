import type { z } from "zod";
import { type Config, configSchema } from "./config.ts";

type Path = readonly (string | number)[];

/**
 * What is left of an input when everything the schema refused is taken out, so that the remaining keys can still be checked
 * against each other.
 *
 * @returns undefined when no sound rest was found; `pruned` are the paths taken out, but not unknown keys
 */
export function pruneIssues(
  input: unknown,
  issues: readonly z.core.$ZodIssue[],
): { config: Config; pruned: Path[] } | undefined {
  const rest: unknown = structuredClone(input);
  const pruned: Path[] = [];
  let left = issues;
  // A list that lost an element, or a section that lost a key it needs, is taken out whole by the next round.
  for (let round = 0; round < 4; round++) {
    for (const issue of left) {
      const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
      if (issue.code === "unrecognized_keys") for (const key of issue.keys) remove(rest, [...path, key]);
      else pruned.push(remove(rest, path));
    }
    const parsed = configSchema.safeParse(rest);
    if (parsed.success) return { config: parsed.data, pruned };
    left = parsed.error.issues;
  }
  return undefined;
}

/** Deletes what stands at the path, or its parent when nothing stands there: a section that lacks a key. */
function remove(root: unknown, path: Path): Path {
  let holder: unknown = root;
  for (const [depth, part] of path.entries()) {
    if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, part))
      return depth === 0 ? path : remove(root, path.slice(0, -1));
    if (depth === path.length - 1) Reflect.deleteProperty(holder, part);
    else holder = Reflect.get(holder, part);
  }
  return path;
}
