import type { z } from "zod";
import { dotted, type Problem } from "./config-error.ts";
import { nearestName } from "./nearest-name.ts";
import { type Schema, schemaAt, shapeOf } from "./schema-shape.ts";

type Issue = z.core.$ZodIssue;

const WANTED: Readonly<Record<string, string>> = {
  string: "text (in quotes when it looks like a number)",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a section of keys",
  record: "a map from names to values",
};

/** What the schema found, in words that name the key and say what would be right; never the value. */
export function describeIssue(issue: Issue, input: unknown, root: Schema): Problem[] {
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ path: [...path, key], text: unknownKey(key, path, root) }));
  return [{ path, text: textOf(issue, valueAt(input, path)) }];
}

function textOf(issue: Exclude<Issue, z.core.$ZodIssueUnrecognizedKeys>, found: unknown): string {
  switch (issue.code) {
    case "invalid_type": {
      const wanted = WANTED[issue.expected] ?? issue.expected;
      if (found === undefined) return `is missing; give ${wanted}`;
      return found === null ? `is empty; give ${wanted} or take the key out` : `must be ${wanted}`;
    }
    case "too_small":
      if (issue.origin === "string") return "must not be empty";
      if (issue.origin === "array") return `needs at least ${plural(issue.minimum, "entry", "entries")}`;
      return `must be at least ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "invalid_format":
      if (issue.format !== "url") return issue.message;
      if (issue.pattern?.includes("redis")) return "must be a URL such as rediss://host:6379/0";
      return issue.pattern?.includes("postgres")
        ? "must be a URL such as postgres://host:5432/name"
        : "must be a URL that starts with http:// or https://";
    case "invalid_key":
      return issue.issues[0]?.message ?? issue.message;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options)
        ? `must be one of ${issue.options.map(String).join(", ")}`
        : issue.message;
    default:
      return issue.message;
  }
}

function unknownKey(key: string, path: readonly (string | number)[], root: Schema): string {
  const schema = schemaAt(root, path);
  const shape = schema === undefined ? undefined : shapeOf(schema);
  if (shape?.kind !== "section") return "unknown key; take it out";
  if (shape.keys.has(key)) return "does not go with the chosen provider; take it out or choose another provider";
  const near = nearestName(key, shape.keys.keys());
  return near === undefined
    ? `unknown key; known here: ${[...shape.keys.keys()].join(", ")}`
    : `unknown key; did you mean ${dotted([...path, near])}?`;
}

function valueAt(input: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, part) ? Reflect.get(value, part) : undefined,
    input,
  );
}

const plural = (count: number | bigint, one: string, many: string) => `${count} ${Number(count) === 1 ? one : many}`;
