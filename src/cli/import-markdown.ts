import { parse } from "yaml";

/** Markdown stays as it was written; its front matter becomes meta, its first heading the title. */

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;
const FENCE = /^ {0,3}(?:```|~~~)/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;

export interface MarkdownContent {
  readonly title: string | undefined;
  readonly text: string;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

export function readMarkdown(source: string): MarkdownContent {
  const matter = FRONT_MATTER.exec(source);
  const meta = matter === null ? undefined : parseFrontMatter(matter[1] ?? "");
  const text = matter === null || meta === undefined ? source : source.slice(matter[0].length);
  const title = typeof meta?.title === "string" && meta.title.trim() !== "" ? meta.title : firstHeading(text);
  return { title, text, meta };
}

/** Undefined for what only looks like front matter: a rule, a table, broken YAML. It stays in the text then. */
function parseFrontMatter(yaml: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    // Aliases could make a small file expand without end.
    value = parse(yaml, { maxAliasCount: 0, logLevel: "error" });
  } catch {
    return undefined;
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function firstHeading(text: string): string | undefined {
  let fenced = false;
  for (const line of text.split(/\r?\n/)) {
    if (FENCE.test(line)) fenced = !fenced;
    const heading = fenced ? undefined : HEADING.exec(line)?.[1]?.trim();
    if (heading !== undefined && heading !== "") return heading;
  }
  return undefined;
}
