/** What a model reads of a text, as far as characters go: the invisible taken out, look-alikes written plainly. */
export interface RevealedText {
  readonly text: string;
  /** True when characters were used in a way that only hides or smuggles text. */
  readonly hidesText: boolean;
}

/** Soft hyphen, joiners, zero-width space, bidi marks, variation selectors, tags and other characters without a shape. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+/gu;
/** Bidi overrides show text in another order than it is read in. Embeddings and isolates are ordinary in Arabic and Hebrew. */
const BIDI_OVERRIDE = /[\u202d\u202e]/;
/** Ordinary text puts one selector after a character; a run of them carries bytes. The two of emoji are doubled by accident. */
const SELECTOR_RUN =
  /[\ufe00-\ufe0d\u{e0100}-\u{e01ef}][\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|[\ufe0e\ufe0f][\ufe00-\ufe0d\u{e0100}-\u{e01ef}]/u;
/** Zero-width characters of two kinds in a long run spell something out in binary. */
const ZERO_WIDTH_RUN = /[\u200b-\u200d\u2060-\u2064\ufeff]{8,}/g;
/** Letters held apart one by one by what shows nothing. Hyphenation leaves syllables together. */
const LETTER_BY_LETTER = /(?:[A-Za-z]\p{Default_Ignorable_Code_Point}{1,8}){5,}[A-Za-z]/u;
/** Accents and strokes that are characters of their own. */
const MARKS = /(?:[\u0300-\u036f]|[\u0483-\u0489]|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff])+/g;
/** Blanks that Unicode does not call spaces. */
const BLANK = /[\u1680\u2800]/g;
/** A flag of a region, such as Scotland's, is the one ordinary use of tag characters. */
const TAGS = /(\u{1f3f4})?([\u{e0001}-\u{e007f}]+)/gu;
const MAX_FLAG_TAGS = 8;
const TAG_OFFSET = 0xe0000;

/** Terminal sequences; the one with 8 conceals what follows. */
const TERMINAL_SEQUENCE = /(?:\u001b\[|\u009b)[0-9;]{0,24}[A-Za-z]/g;
const CONCEALS = /(?:\u001b\[|\u009b)(?:[0-9]{1,3};){0,8}8[;m]/;

const ENTITY =
  /&(?:#([0-9]{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|(lt|gt|amp|quot|apos|nbsp|ensp|emsp|thinsp|Tab|NewLine|shy|zwj|zwnj|lrm|rlm|ZeroWidthSpace|NoBreak);)/g;
const NAMED: Readonly<Record<string, string>> = {
  ...{ lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", Tab: "\t", NewLine: "\n" },
  ...{ nbsp: " ", ensp: " ", emsp: " ", thinsp: " " },
};
/** Characters as programs and addresses write them. */
const ESCAPE = /\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))|%([2-7][0-9a-fA-F])/g;

/** Letters and digits in circles, raised, full width, mathematical alphabets and the like. */
const STYLED =
  /[\u02b0-\u02b8\u02e0-\u02e4\u1d2c-\u1d6a\u1d78\u1d9b-\u1dbf\u2070-\u209c\u2100-\u214f\u2460-\u24ff\u2c7c\u2c7d\ua7f8-\ua7f9\uff01-\uff5e\u{1d400}-\u{1d7ff}\u{1f100}-\u{1f14f}]+/gu;
/** Letters that NFKC leaves as they are: white on a disc or a square, and those that pair up to flags. */
const BADGE = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu;
const BADGES = [0x1f150, 0x1f170, 0x1f1e6];

export function revealText(text: string): RevealedText {
  const tagged = readTags(text);
  // Twice, because what is escaped for a page may be escaped once more on its way.
  const unmarked = tagged.text
    .replace(TERMINAL_SEQUENCE, "")
    .replace(ENTITY, readEntity)
    .replace(ENTITY, readEntity)
    .replace(ESCAPE, readEscape);
  const visible = unmarked.replace(INVISIBLE, "");
  return {
    text: visible
      .replace(BLANK, " ")
      .replace(BADGE, readBadge)
      .replace(STYLED, (run) => run.normalize("NFKC"))
      .replace(MARKS, ""),
    hidesText:
      tagged.found ||
      BIDI_OVERRIDE.test(text) ||
      SELECTOR_RUN.test(text) ||
      CONCEALS.test(text) ||
      (visible !== unmarked && LETTER_BY_LETTER.test(unmarked)) ||
      spellsInZeroWidth(text),
  };
}

/** Writes tag characters as the ASCII that they mirror. */
function readTags(text: string): { text: string; found: boolean } {
  let found = false;
  const read = text.replace(TAGS, (all, flag: string | undefined, tags: string) => {
    // A tag takes two UTF-16 units.
    if (flag !== undefined && tags.length <= 2 * MAX_FLAG_TAGS) return all;
    found = true;
    const ascii = Array.from(tags, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - TAG_OFFSET)).join("");
    return `${flag ?? ""} ${ascii} `;
  });
  return { text: read, found };
}

function spellsInZeroWidth(text: string): boolean {
  for (const [run] of text.matchAll(ZERO_WIDTH_RUN)) if (new Set(run).size > 1) return true;
  return false;
}

function readEntity(all: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return NAMED[name] ?? "";
  return (
    character(decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number.parseInt(decimal, 10)) ?? all
  );
}

const readEscape = (all: string, ...codes: (string | undefined)[]): string =>
  character(Number.parseInt(codes.slice(0, 4).join(""), 16)) ?? all;

const character = (code: number): string | undefined =>
  code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : undefined;

function readBadge(badge: string): string {
  const code = badge.codePointAt(0) ?? 0;
  const first = BADGES.findLast((start) => start <= code) ?? code;
  return String.fromCharCode(65 + code - first);
}
