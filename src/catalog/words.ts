/**
 * Word boundaries of Unicode (UAX #29) as `Intl.Segmenter` draws them, which also divides Chinese, Japanese, Thai, Khmer, Lao
 * and Burmese by dictionary. The segmenter takes most of the time of indexing, so pieces between white space that hold only
 * characters of the table below are divided here by the same rules; every other piece goes to the segmenter.
 */

/** A fixed locale: an unknown one would fall back to the machine's own and cut words differently there. */
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

const LETTER = 1;
const DIGIT = 2;
const CONNECTOR = 4;
const IN_WORD = LETTER | DIGIT | CONNECTOR;
/** Part of the word when a letter stands on both sides (rules WB6 and WB7). */
const JOINS_LETTERS = 8;
/** Part of the word when a digit stands on both sides (rules WB11 and WB12). */
const JOINS_DIGITS = 16;
const SPACE = 32;
const UNKNOWN = 128;

/** Characters by kind, as inclusive ranges `first-last` or single ones. What is in no row is UNKNOWN. */
const KINDS: readonly (readonly [kind: number, ranges: string])[] = [
  [0, "0-8 e-1f 21-7f a1-a9 ab-ac ae-b4 b6 b9 bb-bf d7 f7 2010-2017 201a-2023 2025-2026 2030-203e 20ac 2122 2190-22ff"],
  [SPACE, "9-d 20"],
  [LETTER, "41-5a 61-7a aa b5 ba c0-d6 d8-f6 f8-2af 386 388-38a 38c 38e-3a1 3a3-3f5 3f7-481 48a-52f"],
  [DIGIT, "30-39"],
  [CONNECTOR, "5f"],
  [JOINS_LETTERS, "3a b7"],
  [JOINS_DIGITS, "2c 3b"],
  [JOINS_LETTERS | JOINS_DIGITS, "27 2e 2018-2019"],
];

const KIND = new Uint8Array(0x10000).fill(UNKNOWN);
for (const [kind, ranges] of KINDS) {
  for (const range of ranges.split(" ")) {
    const [first = "", last = first] = range.split("-");
    KIND.fill(kind, Number.parseInt(first, 16), Number.parseInt(last, 16) + 1);
  }
}

const kindAt = (text: string, index: number): number => KIND[text.charCodeAt(index)] ?? UNKNOWN;

/** The words of `text` in order: its segments with a letter, digit, kana or ideograph. Text is taken as it is: normalise before. */
export function words(text: string): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start;
    let kinds = 0;
    for (; end < text.length; end++) {
      const kind = kindAt(text, end);
      if (kind === SPACE) break;
      kinds |= kind;
    }
    if (kinds & UNKNOWN) addSegments(text.slice(start, end), found);
    else if (kinds & IN_WORD) addWords(text, start, end, found);
    start = end + 1;
  }
  return found;
}

function addSegments(piece: string, found: string[]): void {
  for (const { segment, isWordLike } of segmenter.segment(piece)) {
    if (isWordLike) found.push(segment);
  }
}

function addWords(text: string, from: number, to: number, found: string[]): void {
  for (let index = from; index < to; index++) {
    let last = kindAt(text, index);
    if (!(last & IN_WORD)) continue;
    const start = index;
    for (index++; index < to; index++) {
      const kind = kindAt(text, index);
      if (!(kind & IN_WORD) && !(index + 1 < to && joins(last, kind, kindAt(text, index + 1)))) break;
      last = kind;
    }
    // A connector alone is no word to the segmenter; two are.
    if (index - start > 1 || last !== CONNECTOR) found.push(text.slice(start, index));
  }
}

const joins = (before: number, kind: number, after: number): boolean =>
  before === LETTER
    ? after === LETTER && (kind & JOINS_LETTERS) !== 0
    : before === DIGIT && after === DIGIT && (kind & JOINS_DIGITS) !== 0;
