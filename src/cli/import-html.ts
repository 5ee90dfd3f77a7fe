import { type HtmlPage, htmlText } from "../fetch/html-text.ts";

/** Text is undefined when the bytes do not fit the page's encoding. */
export function readHtml(bytes: Uint8Array): HtmlPage | { readonly title: undefined; readonly text: undefined } {
  const html = decode(bytes);
  return html === undefined ? { title: undefined, text: undefined } : htmlText(html);
}

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
