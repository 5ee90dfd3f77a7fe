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

export function readHtml(bytes: Uint8Array): { readonly title: string | undefined; readonly text: string | undefined } {
  const html = decode(bytes);
  if (html === undefined) return { title: undefined, text: undefined };
  const title = oneLine(titleToText(html)) || oneLine(headingToText(html));
  let text = "";
  for (const convert of CONTENT) text ||= convert(html).trim();
  return { title: title === "" ? undefined : title, text };
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim();

const CHARSET = /<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:-]+)/i;

/** By the page's own declaration within its first 1,024 bytes, else UTF-8. Undefined when the bytes do not fit it. */
function decode(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  const label = CHARSET.exec(head)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
