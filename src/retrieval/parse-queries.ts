/** Longest query that is taken from an answer, in UTF-16 units. */
const MAX_QUERY_LENGTH = 500;

const BULLET = /^[-*•–]\s+/;
const QUOTED = /^(?:"(.+)"|'(.+)'|`(.+)`|“(.+)”|«(.+)»)$/;

/**
 * The queries in a text generator's answer, one a line.
 *
 * Left out: blank lines, code fences, lines that end in a colon (they announce what follows), repeats, and `original` itself
 * unless nothing else is there. Bullets go, quotes around a whole line too, and numbers when they count all lines, since a query
 * may begin with one.
 *
 * @returns in the answer's order, at most `most`, each at most 500 UTF-16 units long
 */
export function parseQueries(answer: string, original: string, most: number): string[] {
  const lines = answer
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim().replace(BULLET, ""))
    .filter((line) => line !== "" && !line.startsWith("```") && !line.endsWith(":"));
  const queries = new Map<string, string>();
  for (const line of withoutNumbers(lines)) {
    const query = unquote(line).slice(0, MAX_QUERY_LENGTH).toWellFormed().trim();
    const key = keyOf(query);
    if (query !== "" && !queries.has(key)) queries.set(key, query);
  }
  if (queries.size > 1) queries.delete(keyOf(original));
  return [...queries.values()].slice(0, most);
}

/** Two queries that differ by letter case or by how accents were typed are one. */
const keyOf = (query: string): string => query.replace(/\s+/g, " ").trim().normalize("NFC").toLowerCase();

function withoutNumbers(lines: readonly string[]): readonly string[] {
  const rests = lines.map((line, index) => line.replace(new RegExp(`^\\(?${index + 1}[.):]\\s+`), ""));
  const isCounted = lines.length > 1 && rests.every((rest, index) => rest !== lines[index]);
  return isCounted ? rests : lines;
}

function unquote(line: string): string {
  const found = QUOTED.exec(line);
  return (
    found
      ?.slice(1)
      .find((text) => text !== undefined)
      ?.trim() ?? line
  );
}
