import { RULE_WORDS } from "./instruction-rules.ts";
import { plainWord } from "./word-list.ts";

const LETTER = "A-Za-z0-9@$\\u00c0-\\u024f\\u0370-\\u052f";
/** Letters that stand alone, eight or more. Whatever holds them apart is no letter, so nothing is tried twice. */
const APART = new RegExp(`(?<![${LETTER}])[${LETTER}](?:[^${LETTER}]{1,6}[${LETTER}]){7,}(?![${LETTER}])`, "g");
const SEPARATOR = new RegExp(`[^${LETTER}]+`, "g");
/** Longer than an ordinary word. */
const TOGETHER = new RegExp(`(?<![${LETTER}])[${LETTER}]{20,}`, "g");

/** What words say that are written with their letters apart, such as `s t o p`. */
export function lettersApart(text: string): string[] {
  return [...text.matchAll(APART)].flatMap(([run]) => {
    const between = commonest(run.match(SEPARATOR) ?? []);
    const spelled = run.replace(SEPARATOR, (separator) => (separator === between ? "" : " "));
    return [spelled, spelled.split(" ").map(splitWords).join(" ")];
  });
}

/** What words say that are written without anything between them. */
export const wordsTogether = (text: string): string[] => (text.match(TOGETHER) ?? []).map(splitWords);

function commonest(separators: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const one of separators) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), ["", 0])[0];
}

/** The words of rules by their first two letters, longest first. */
const byStart = new Map<string, string[]>();
for (const word of [...RULE_WORDS].sort((a, b) => b.length - a.length)) {
  if (word.length > 1) byStart.set(word.slice(0, 2), [...(byStart.get(word.slice(0, 2)) ?? []), word]);
}

/** Letters with blanks around the words that rules know, the longest at each place. */
function splitWords(letters: string): string {
  const plain = plainWord(letters);
  let split = "";
  for (let at = 0; at < plain.length; ) {
    const word = byStart.get(plain.slice(at, at + 2))?.find((known) => plain.startsWith(known, at));
    split += word === undefined ? plain[at] : ` ${word} `;
    at += word?.length ?? 1;
  }
  return split;
}
