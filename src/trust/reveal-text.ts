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
/** A flag of a region, such as Scotland's, is the one ordinary use of tag characters. */
const TAGS = /(\u{1f3f4})?([\u{e0001}-\u{e007f}]+)/gu;
const MAX_FLAG_TAGS = 8;
const TAG_OFFSET = 0xe0000;

/** Terminal sequences; the one with 8 conceals what follows. */
const TERMINAL_SEQUENCE = /(?:\u001b\[|\u009b)[0-9;]{0,24}[A-Za-z]/g;
const CONCEALS = /(?:\u001b\[|\u009b)(?:[0-9]{1,3};){0,8}8[;m]/;

const ENTITY = /&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|apos|nbsp|shy|zwj|zwnj));/g;
const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };

/** Letters and digits in circles, full width, mathematical alphabets and the like. */
const STYLED = /[\u2070-\u209c\u2100-\u214f\u2460-\u24ff\uff01-\uff5e\u{1d400}-\u{1d7ff}\u{1f100}-\u{1f189}]+/gu;

export function revealText(text: string): RevealedText {
  const tagged = readTags(text);
  const unmarked = tagged.text.replace(TERMINAL_SEQUENCE, "").replace(ENTITY, readEntity);
  return {
    text: unmarked.replace(INVISIBLE, "").replace(STYLED, (run) => run.normalize("NFKC")),
    hidesText:
      tagged.found ||
      BIDI_OVERRIDE.test(text) ||
      SELECTOR_RUN.test(text) ||
      CONCEALS.test(text) ||
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
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number.parseInt(decimal, 10);
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : all;
}
