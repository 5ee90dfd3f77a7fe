import { stemmerFor } from "./languages.ts";
import { stopWordsOf } from "./stop-words.ts";
import { words } from "./words.ts";

/** A longer term is cut here, at a character: it is a key of an index that has its limit too. */
const MAX_TERM_BYTES = 256;

const encoder = new TextEncoder();

/**
 * The terms of a text, in order and with repetitions: its words in NFC, lower-case and stemmed. Postings and queries must agree
 * on them, so a change here asks for every corpus to be indexed anew.
 *
 * U+0000 separates words. A term over 256 bytes of UTF-8 is cut. Stop words stay in: see `queryTerms`.
 *
 * @param language one of catalog/languages.ts
 */
export function tokenize(text: string, language: string): string[] {
  const toTerm = termMaker(language);
  return lowerCaseWords(text, language).map(toTerm);
}

/**
 * The terms that a query asks for and how often it says each, in order of first mention.
 *
 * Stop words are left out while another word is left: on the queries of SciFact and XQuAD (English, Chinese) nDCG@10 rises by
 * .001 to .003 and a tenth to a third of the postings are read. A query of nothing else, such as a band's name, keeps them,
 * since the index has them.
 *
 * @param language one of catalog/languages.ts
 */
export function queryTerms(text: string, language: string): ReadonlyMap<string, number> {
  const toTerm = termMaker(language);
  const stopWords = stopWordsOf(language);
  const all = lowerCaseWords(text, language);
  const telling = all.filter((word) => !stopWords.has(word));
  return countTerms((telling.length > 0 ? telling : all).map(toTerm));
}

/** How often each term occurs, in order of first occurrence. */
export function countTerms(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

function lowerCaseWords(text: string, language: string): string[] {
  const normal = text.normalize("NFC");
  const lower = language === "turkish" ? normal.toLocaleLowerCase("tr") : normal.toLowerCase();
  return words(lower.replaceAll("\u2019", "'"));
}

/** Remembers the stems of one text: a word's second occurrence is cheaper, and nothing outlives the call or pins the text. */
function termMaker(language: string): (word: string) => string {
  const stem = stemmerFor(language);
  const terms = new Map<string, string>();
  return (word) => {
    const known = terms.get(word);
    if (known !== undefined) return known;
    const short = shorten(word);
    const term = shorten(stem(short)) || short;
    terms.set(word, term);
    return term;
  };
}

function shorten(word: string): string {
  // A UTF-16 unit takes at most 3 bytes.
  if (word.length * 3 <= MAX_TERM_BYTES) return word;
  const { read } = encoder.encodeInto(word, new Uint8Array(MAX_TERM_BYTES));
  return word.slice(0, read);
}
