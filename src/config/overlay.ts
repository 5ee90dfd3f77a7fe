import type { EnvironmentSetting } from "./environment.ts";
import { type Schema, shapeOf } from "./schema-shape.ts";

type Container = Record<string, unknown> | unknown[];

/**
 * Lays settings over the file's value, in place.
 *
 * @returns one problem for each setting that would leave a gap in a list
 */
export function overlay(
  base: Record<string, unknown>,
  settings: readonly EnvironmentSetting[],
  root: Schema,
): string[] {
  const problems: string[] = [];
  for (const { variable, path, value } of settings) {
    let container: Container | undefined = base;
    let schema: Schema | undefined = root;
    for (const [depth, part] of path.entries()) {
      if (Array.isArray(container) && Number(part) > container.length) {
        problems.push(`${variable}: elements count from 0 without gaps; ${container.length} would be the next`);
        break;
      }
      if (depth === path.length - 1) put(container, part, value);
      else {
        schema = inner(schema, part);
        container = child(container, part, shapeOf(schema).kind === "list");
      }
      // What stands in the file here is of another kind; the schema says so.
      if (container === undefined) break;
    }
  }
  return problems;
}

/** Takes out sections that are written without a key under them: `server:` alone means its defaults. */
export function dropEmptySections(value: Record<string, unknown>, root: Schema): void {
  const shape = shapeOf(root);
  if (shape.kind !== "section") return;
  for (const [key, schema] of shape.keys) {
    const found = Object.hasOwn(value, key) ? value[key] : undefined;
    if (found === null && shapeOf(schema).kind === "section") delete value[key];
    else if (isRecord(found)) dropEmptySections(found, schema);
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function inner(schema: Schema, part: string | number): Schema {
  const shape = shapeOf(schema);
  const found =
    shape.kind === "section" ? shape.keys.get(String(part)) : shape.kind === "list" ? shape.element : undefined;
  if (found === undefined) throw new Error("a variable's path was found in the schema before");
  return found;
}

function child(container: Container, part: string | number, list: boolean): Container | undefined {
  const found = get(container, part);
  if (found === undefined || found === null) {
    const made = list ? [] : {};
    put(container, part, made);
    return made;
  }
  return Array.isArray(found) || isRecord(found) ? found : undefined;
}

function get(container: Container, part: string | number): unknown {
  if (Array.isArray(container)) return container[Number(part)];
  return Object.hasOwn(container, part) ? container[part] : undefined;
}

function put(container: Container, part: string | number, value: unknown): void {
  if (Array.isArray(container)) container[Number(part)] = value;
  else container[part] = value;
}
