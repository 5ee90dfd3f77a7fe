/**
 * The vector files say large values in short: `{"$gen": "repeat", "unit": "a", "count": 3}` is `"aaa"`. A member that is
 * `{"$remove": true}` is left out. Markers of time and keys (`$now`, `$evilJwk`, …) belong to the token tests and stay.
 */

interface Marker {
  readonly $gen: string;
  readonly [name: string]: unknown;
}

/** The value with every `$gen` marker in it replaced by what it stands for. */
export function expandVector(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expandVector);
  if (typeof value !== "object" || value === null) return value;
  if (isMarker(value)) return generate(value);
  // fromEntries defines members, so that `__proto__` stays a member.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => !isRemoved(member))
      .map(([name, member]) => [name, expandVector(member)]),
  );
}

/** JSON text of a value that may nest deeper than a function can call itself. */
export function deepText(root: unknown): string {
  let text = "";
  const pending: ({ readonly text: string } | { readonly value: unknown })[] = [{ value: root }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ("text" in next) {
      text += next.text;
      continue;
    }
    const { value } = next;
    const isList = Array.isArray(value);
    if (typeof value !== "object" || value === null) text += JSON.stringify(value) ?? "null";
    else {
      const inside = Object.entries(value).flatMap(([name, member], index) => [
        { text: (index > 0 ? "," : "") + (isList ? "" : `${JSON.stringify(name)}:`) },
        { value: member },
      ]);
      const pieces = [{ text: isList ? "[" : "{" }, ...inside, { text: isList ? "]" : "}" }];
      for (const piece of pieces.reverse()) pending.push(piece);
    }
  }
  return text;
}

function generate(marker: Marker): unknown {
  const count = Number(marker.count ?? marker.depth);
  const text = (name: string): string => String(marker[name] ?? "");
  switch (marker.$gen) {
    case "repeat":
      return text("unit").repeat(count);
    case "array":
      return Array.from({ length: count }, () => expandVector(marker.item));
    case "seq":
      return Array.from({ length: count }, (_, index) => Number(marker.start ?? 0) + index);
    case "strseq":
      return Array.from({ length: count }, (_, index) => `${text("prefix")}${index}`);
    case "nest":
      return wrap(count, expandVector(marker.leaf), (inner) => ({ [text("key")]: inner }));
    case "nestIn":
      return wrap(count, expandVector(marker.leaf), (inner) => ({ [text("wrap")]: [inner] }));
    case "nestArray":
      return wrap(count - 1, [], (inner) => [inner]);
    case "rawRepeat":
      return text("prefix") + text("unit").repeat(count) + text("suffix");
    case "batch":
      return batchText(expandVector(marker.item), count, marker.ids === true);
    case "headers":
      return Array.from({ length: count }, (_, index) => [`x-filler-${index}`, "x"]);
    default:
      throw new Error(`no such generator: ${marker.$gen}`);
  }
}

/** A JSON array as text; numbered, its members have the ids 0, 1, 2, … */
function batchText(item: unknown, count: number, numbered: boolean): string {
  return JSON.stringify(
    Array.from({ length: count }, (_, id) => (numbered && typeof item === "object" ? { ...item, id } : item)),
  );
}

function wrap(times: number, leaf: unknown, around: (inner: unknown) => unknown): unknown {
  let value = leaf;
  for (let level = 0; level < times; level++) value = around(value);
  return value;
}

const isMarker = (value: object): value is Marker => Object.hasOwn(value, "$gen");

const isRemoved = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "$remove");
