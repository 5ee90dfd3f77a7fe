const MAX_REGION = 4_000;

/** A link reference definition that renders as nothing: the comment of Markdown. */
const MARKDOWN_COMMENT = /^[ \t]{0,3}\[(?:\/\/|comment|_)\]:[ \t]{0,3}(?:#|<>)[ \t]{0,3}[("']([^\n]{0,1000})/gim;
const TAG = /<([a-z][a-z0-9-]{0,15})((?:\s[^<>]{0,600})?)>/gi;
const STYLE = /\sstyle\s{0,3}=\s{0,3}(?:"([^"]{0,400})"|'([^']{0,400})'|([^\s"']{1,400}))/i;
const INVISIBLE_STYLE =
  /(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}(?:0(?![.\d]*[1-9])|(?:0?\.\d{1,4}|1)p[xt])|opacity\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|(?:^|[;\s])(?:max-)?(?:height|width)\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|(?:left|top|text-indent)\s{0,3}:\s{0,3}-\d{3}|(?:^|[;\s])color\s{0,3}:\s{0,3}(?:#fff(?:fff)?\b|white\b|transparent\b|rgba?\(255,\s{0,2}255,\s{0,2}255))/i;
const INVISIBLE_ATTRIBUTE = /\s(?:hidden(?![\w-])|color\s{0,3}=\s{0,3}["']?(?:#fff(?:fff)?\b|white\b))/i;
/** Elements without text of their own. */
const VOID = new Set("area base br col embed hr img input link meta source track wbr".split(" "));
const INLINE_TAG = /<\/?(?:a|abbr|b|code|em|font|i|mark|s|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]{0,600})?\/?>/gi;
const ANY_TAG = /<[/!a-z][^<>]{0,600}>/gi;
/** Signs of Markdown, and its escapes, within a word. */
const MARK_IN_WORD = /(?<=[\p{L}\p{N}])(?:\*{1,3}|~~|`)(?=[\p{L}\p{N}])|\\(?=[\p{L}\p{N}])/gu;

/** The parts of a marked-up text that a reader of the page does not see. */
export function hiddenParts(text: string): string[] {
  const parts = comments(text).inside;
  for (const [, comment = ""] of text.matchAll(MARKDOWN_COMMENT)) parts.push(comment);
  let shownFrom = 0;
  for (const { 0: tag, 1: name = "", 2: attributes = "", index } of text.matchAll(TAG)) {
    if (index < shownFrom || !hides(name.toLowerCase(), attributes)) continue;
    const element = contentOf(text, index + tag.length, name);
    parts.push(withoutTags(element));
    shownFrom = index + tag.length + element.length;
  }
  return parts;
}

/** A marked-up text as its page shows it; undefined when it has no markup. */
export function shownText(text: string): string | undefined {
  const shown = withoutTags(comments(text).outside).replace(MARK_IN_WORD, "");
  return shown === text ? undefined : shown;
}

function hides(name: string, attributes: string): boolean {
  if (VOID.has(name)) return false;
  if (name === "template") return true;
  if (attributes === "") return false;
  const [, double, single, bare] = STYLE.exec(attributes) ?? [];
  if (INVISIBLE_STYLE.test(double ?? single ?? bare ?? "")) return true;
  return INVISIBLE_ATTRIBUTE.test(attributes.replace(/(?<!color\s{0,3}=\s{0,3})(?:"[^"]*"|'[^']*')/gi, '""'));
}

/** What stands before the tag that ends an element, at most a region: an element that never ends is not looked through twice. */
function contentOf(text: string, start: number, name: string): string {
  const region = text.slice(start, start + MAX_REGION);
  let depth = 1;
  for (const { 1: slash, index } of region.matchAll(new RegExp(`<(/?)${name}(?![\\w-])`, "gi"))) {
    depth += slash === "" ? 1 : -1;
    if (depth === 0) return region.slice(0, index);
  }
  return region;
}

const withoutTags = (text: string): string => text.replace(INLINE_TAG, "").replace(ANY_TAG, "\n");

function comments(text: string): { inside: string[]; outside: string } {
  const inside: string[] = [];
  let outside = "";
  for (let from = 0; ; ) {
    const start = text.indexOf("<!--", from);
    if (start < 0) return { inside, outside: outside + text.slice(from) };
    outside += text.slice(from, start);
    const end = text.indexOf("-->", start + 4);
    if (end < 0) return { inside: [...inside, text.slice(start + 4, start + 4 + MAX_REGION)], outside };
    inside.push(text.slice(start + 4, end));
    from = end + 3;
  }
}
