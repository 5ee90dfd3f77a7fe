type Meta = Readonly<Record<string, unknown>>;

/**
 * Meta as callers may see it: without the members that the paths name and all that is below them, at any depth and in every object of a
 * list.
 *
 * @param paths names, or names joined by dots. A name may itself hold dots, so `a.b` is the member `a.b`, and `b` within `a`, and
 *   either has `a.b.c` below it.
 */
export function redactMeta(meta: Meta, paths: readonly string[]): Meta {
  if (paths.length === 0) return meta;
  const shown = Object.entries(meta).filter(([name]) => !paths.some((path) => covers(path, name)));
  return Object.fromEntries(shown.map(([name, value]) => [name, redactValue(value, pathsWithin(name, paths))]));
}

function redactValue(value: unknown, paths: readonly string[]): unknown {
  if (paths.length === 0 || typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map((item) => redactValue(item, paths)) : redactMeta(value as Meta, paths);
}

const covers = (path: string, name: string): boolean => name === path || name.startsWith(`${path}.`);

const pathsWithin = (name: string, paths: readonly string[]): readonly string[] =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));
