const MAX_REGION = 4_000;

/** A link reference definition that renders as nothing: the comment of Markdown. */
const MARKDOWN_COMMENT = /^[ \t]{0,3}\[(?:\/\/|comment|_)\]:[ \t]{0,3}(?:#|<>)[ \t]{0,3}[("']([^\n]{0,1000})/gim;
const STYLED_TAG =
  /<[a-z][a-z0-9]{0,15}\s[^<>]{0,400}style\s{0,3}=\s{0,3}(?:"([^"<>]{0,400})"|'([^'<>]{0,400})')[^<>]{0,200}>/gi;
const INVISIBLE_STYLE =
  /(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|opacity\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|(?:^|[;\s])color\s{0,3}:\s{0,3}(?:#fff(?:fff)?\b|white\b|transparent\b|rgba?\(255,\s{0,2}255,\s{0,2}255))/i;

/** The parts of a marked-up text that a reader of the page does not see. */
export function hiddenParts(text: string): string[] {
  const parts = comments(text);
  for (const [, comment = ""] of text.matchAll(MARKDOWN_COMMENT)) parts.push(comment);
  for (const { 0: tag, 1: double, 2: single, index } of text.matchAll(STYLED_TAG)) {
    if (!INVISIBLE_STYLE.test(double ?? single ?? "")) continue;
    const start = index + tag.length;
    const region = text.slice(start, start + MAX_REGION);
    const end = region.indexOf("<");
    parts.push(end < 0 ? region : region.slice(0, end));
  }
  return parts;
}

function comments(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; ; ) {
    const start = text.indexOf("<!--", from);
    if (start < 0) return parts;
    const end = text.indexOf("-->", start + 4);
    if (end < 0) return [...parts, text.slice(start + 4, start + 4 + MAX_REGION)];
    parts.push(text.slice(start + 4, end));
    from = end + 3;
  }
}
