/**
 * True when a parsed JSON value holds no more than `limit` objects and arrays inside each other; the value itself counts.
 *
 * Walks with its own stack: a body of 1 MiB can hold half a million levels, and a recursive walk would overflow on them.
 */
export function isWithinDepth(value: unknown, limit: number): boolean {
  if (!isContainer(value)) return true;
  const open = [{ container: value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > limit) return false;
    for (const child of Object.values(next.container))
      if (isContainer(child)) open.push({ container: child, depth: next.depth + 1 });
  }
  return true;
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;
