/** Text from documents and servers, made safe to show: it may try to move the cursor, recolour the screen or reverse what is read. */

// C0 but tab and line feed, DEL, C1, bidirectional controls, zero-width and other invisible format characters.
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** The text with every character that a terminal would act on, or not show, written as `\u{…}`. */
export const visible = (text: string): string =>
  text.replaceAll("\r\n", "\n").replaceAll(UNSAFE, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);

/** The same on one line. */
export const visibleLine = (text: string): string => visible(text).replaceAll(/\s+/g, " ").trim();

/** Rows in aligned columns; numbers to the right. The first row is the head. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const widths: number[] = [];
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? String(cell) : visibleLine(cell))));
  for (const row of cells)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length);
    });
  const isNumber = (at: number) => rows.length > 1 && rows.slice(1).every((row) => typeof row[at] === "number");
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => (isNumber(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return cells.map((row) => `${line(row)}\n`).join("");
}
