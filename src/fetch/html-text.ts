import { compile, type HtmlToTextOptions } from "html-to-text";

/** The readable text of an HTML page, without its menus, scripts and styles. */

/** Nothing in these is prose. */
const SKIPPED = ["nav", "script", "style", "noscript", "template", "svg", "iframe", "form", "button", "img"];
const MAX_DEPTH = 256;

const options: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxDepth: MAX_DEPTH, ellipsis: "" },
  selectors: [
    ...SKIPPED.map((selector) => ({ selector, format: "skip" })),
    { selector: "a", options: { ignoreHref: true } },
    { selector: "table", format: "dataTable", options: { uppercaseHeaderCells: false } },
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
};

/** A page without a head element has its title among its text. */
const withoutTitle: HtmlToTextOptions = {
  ...options,
  selectors: [...(options.selectors ?? []), { selector: "title", format: "skip" }],
};

/** The text of the elements that the selector names; empty when the page has none. */
const textOf = (selector: string) =>
  compile({ ...options, baseElements: { selectors: [selector], orderBy: "occurrence", returnDomByDefault: false } });

const titleToText = textOf("title");
const headingToText = textOf("h1");
/** What the page calls its content, else all of it. */
const CONTENT = [textOf("main"), textOf("article"), compile(withoutTitle)];

export interface HtmlPage {
  readonly title: string | undefined;
  readonly text: string;
}

/** Takes the time and memory that the page asks for: a stranger's belongs into a thread of its own (html-text-apart.ts). */
export function htmlText(html: string): HtmlPage {
  const title = oneLine(titleToText(html)) || oneLine(headingToText(html));
  let text = "";
  for (const convert of CONTENT) text ||= convert(html).trim();
  return { title: title === "" ? undefined : title, text };
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim();
