/** JSON that a value of the language cannot say: members twice, numbers beyond a double, text that is no JSON. */

/** Written as it stands. */
export class RawText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object by its members, in order, as often as they are there. */
export class Members {
  readonly list: (readonly [string, unknown])[];

  constructor(list: readonly (readonly [string, unknown])[]) {
    this.list = [...list];
  }
}

/** A value as a tree that can be changed: every object is `Members`. */
export function treeOf(value: unknown): unknown {
  if (value instanceof RawText || value instanceof Members) return value;
  if (Array.isArray(value)) return value.map(treeOf);
  if (typeof value !== "object" || value === null) return value;
  return new Members(Object.entries(value).map(([name, member]) => [name, treeOf(member)] as const));
}

export function writeTree(tree: unknown): string {
  if (tree instanceof RawText) return tree.text;
  if (tree instanceof Members)
    return `{${tree.list.map(([name, member]) => `${JSON.stringify(name)}:${writeTree(member)}`).join(",")}}`;
  if (Array.isArray(tree)) return `[${tree.map(writeTree).join(",")}]`;
  return JSON.stringify(tree) ?? "null";
}

/** A place in a tree that can be written to. */
export interface Place {
  readonly parent: Members | unknown[];
  readonly index: number;
}

/** Every place below the root, parents first. */
export function placesIn(tree: unknown): Place[] {
  const places: Place[] = [];
  const pending: unknown[] = [tree];
  while (pending.length > 0) {
    const parent = pending.pop();
    if (!(parent instanceof Members) && !Array.isArray(parent)) continue;
    const length = parent instanceof Members ? parent.list.length : parent.length;
    for (let index = 0; index < length; index++) {
      places.push({ parent, index });
      pending.push(parent instanceof Members ? parent.list[index]?.[1] : parent[index]);
    }
  }
  return places;
}
