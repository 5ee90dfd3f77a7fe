import { writeLookAlikes } from "./look-alikes.ts";

/** The words of a text with what stands between them, read so that common disguises of a word do not matter. */
export interface WordList {
  /** As `plainWord` writes them; words too long for any rule are empty. */
  readonly words: readonly string[];
  /** What separates a word from the one before it. */
  readonly gaps: Uint8Array;
}

export const GAP = { none: 0, comma: 1, clause: 2 } as const;

const MAX_WORD = 24;

const LATIN = 1;
/** Digits and signs that can stand for letters. */
const DIGIT = 2;
const FOREIGN = 4;
const IN_WORD = LATIN | DIGIT | FOREIGN;
const COMMA = 8;
const CLAUSE = 16;

/** Kinds of lower-case characters. */
const KIND = new Uint8Array(0x10000);
KIND.fill(FOREIGN, 0xa1, 0x2000).fill(FOREIGN, 0x2070, 0x3000).fill(FOREIGN, 0x3040, 0xff00);
KIND.fill(LATIN, 0x61, 0x7b).fill(DIGIT, 0x30, 0x3a);
const setKind = (signs: string, kind: number): void => {
  for (const sign of signs) KIND[sign.charCodeAt(0)] = kind;
};
setKind("@$", DIGIT);
setKind(",\"'\u2018\u2019\u201c\u201d\u00ab\u00bb\u2013\u2014\n", COMMA);
setKind(".!?;:()[]{}<>=|/\\#\u2026\u3002\uff01\uff1f", CLAUSE);

export function listWords(text: string): WordList {
  // The one letter that lower case makes longer.
  const source = text.replaceAll("\u0130", "I");
  const lower = source.toLowerCase();
  const words: string[] = [];
  const gaps: number[] = [];
  const plain = new Map<string, string>();
  const kindAt = (index: number): number => KIND[lower.charCodeAt(index)] ?? 0;
  let gap: number = GAP.clause;
  for (let index = 0; index < lower.length; ) {
    const kind = kindAt(index);
    if (!(kind & IN_WORD)) {
      if (kind === CLAUSE || (lower.charCodeAt(index) === 10 && isBlankLine(lower, index))) gap = GAP.clause;
      else if (kind === COMMA && gap === GAP.none) gap = GAP.comma;
      index++;
      continue;
    }
    const start = index;
    let kinds = 0;
    for (let here = kind; ; here = kindAt(index)) {
      if (!(here & IN_WORD) && !(isApostrophe(lower, index) && kindAt(index + 1) & IN_WORD)) break;
      kinds |= here;
      index++;
    }
    if (index - start > MAX_WORD) words.push("");
    else if (kinds === LATIN) words.push(lower.slice(start, index));
    else {
      // As it was written: a capital may look like another letter than the small one does.
      const word = source.slice(start, index);
      words.push(plain.get(word) ?? remember(plain, word, plainWord(word)));
    }
    gaps.push(gap);
    gap = GAP.none;
  }
  return { words, gaps: Uint8Array.from(gaps) };
}

function remember(plain: Map<string, string>, word: string, written: string): string {
  plain.set(word, written);
  return written;
}

const isBlankLine = (text: string, index: number): boolean =>
  text.charCodeAt(index - 1) === 10 || (text.charCodeAt(index - 1) === 13 && text.charCodeAt(index - 2) === 10);

const isApostrophe = (text: string, index: number): boolean =>
  text.charCodeAt(index) === 0x27 || text.charCodeAt(index) === 0x2019;

const DIGITS: Readonly<Record<string, string>> = { 0: "o", 1: "i", 3: "e", 4: "a", 5: "s", 7: "t", "@": "a", $: "s" };

/**
 * A word in lower case without accents, with the digits, signs and foreign letters that stand among Latin ones written as what they
 * stand for. Rules are written the same way.
 */
export function plainWord(word: string): string {
  let plain = word;
  if (/[^\0-\x7f]/.test(plain))
    plain = writeLookAlikes(
      plain
        .replaceAll("\u2019", "'")
        .normalize("NFD")
        .replace(/\p{M}+/gu, ""),
    );
  plain = plain.toLowerCase();
  return /[a-z]/.test(plain) ? plain.replace(/[013457@$]/g, (sign) => DIGITS[sign] ?? sign) : plain;
}
