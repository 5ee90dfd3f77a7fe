/** Tables and numbers as people read them. */

/** In Markdown, with columns as wide as their widest cell, so that a terminal shows it as well. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, at) => Math.max(3, ...lines.map((cells) => (cells[at] ?? "").length)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => (cells[at] ?? "").padEnd(width)).join(" | ")} |`;
  const [first = [], ...rest] = lines;
  return [line(first), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rest.map(line)].join("\n");
}

export const decimals = (value: number, digits: number): string =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const count = (value: number): string => decimals(value, 0);
export const ms = (value: number): string => decimals(value, Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);
export const share = (value: number): string => decimals(value, 4);
export const kB = (bytes: number): string => decimals(bytes / 1_000, 1);
