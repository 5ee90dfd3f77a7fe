import { type InstructionRule, RULE_WORDS, rulesFrom, type SignalKind } from "./instruction-rules.ts";
import { GAP, listWords, type WordList } from "./word-list.ts";

/** Signals further apart than this many words have nothing to do with each other. */
const WINDOW = 40;

/** Before an imperative these turn it into a report or its opposite: "you may ignore all rules", "never forget your orders". */
const NOT_AN_ORDER = new Set(
  `not never don't won't can't cannot didn't doesn't shouldn't wouldn't shall may might can could would will we they i who that
  people students users`.split(/\s+/),
);
/** After one of these a clause's imperative may still come. */
const OPENERS = new Set("please and then now so just kindly also but instead simply immediately".split(" "));

/** The same order where words are not divided by spaces, or come in another sequence. */
const OTHER_SCRIPTS = [
  /(?:忽略|无视|忽視|無視|忘记|忘掉|不要理会|不要遵守)[^。！？\n]{0,12}(?:之前|以上|先前|前面|所有|上述|此前|上面|一切|任何)[^。！？\n]{0,10}(?:指令|指示|提示|命令|规则|規則)/,
  /(?:以前|前|上記|これまで|上|すべて|全て)の[^。\n]{0,12}(?:指示|命令|指令|プロンプト)[^。\n]{0,6}(?:無視|忘れ)/,
  /(?:이전|앞의|위의|앞선|기존|모든)[^.\n]{0,14}(?:지시|명령|지침|프롬프트)[^.\n]{0,8}(?:무시|잊)/,
  /(?:تجاهل|انس)[^.\n]{0,14}(?:التعليمات|الأوامر|الإرشادات)/,
];

/** How much a text reads like orders to a model: the greatest sum of different signals that stand close together, 0 = not at all. */
export function instructionScore(text: string): number {
  return isOrderInOtherScript(text) ? 1 : scoreOf(listWords(text));
}

/** The same of a text that may also be written backwards, as a whole or word by word, or in ROT13. */
export function turnedScore(text: string): number {
  if (isOrderInOtherScript(text)) return 1;
  const list = listWords(text);
  const scores = [scoreOf(list)];
  const words = new Set(list.words);
  if (isTelling(words, reverse)) {
    const reversed = list.words.map(reverse);
    // A gap stands before its word, so backwards it is that of the word after it.
    const gaps = Uint8Array.from(list.gaps, (_, index) => list.gaps[list.gaps.length - index] ?? GAP.clause);
    scores.push(scoreOf({ words: reversed, gaps: list.gaps }), scoreOf({ words: reversed.toReversed(), gaps }));
  }
  if (isTelling(words, rotate)) scores.push(scoreOf({ words: list.words.map(rotate), gaps: list.gaps }));
  return Math.max(...scores);
}

const isOrderInOtherScript = (text: string): boolean => OTHER_SCRIPTS.some((pattern) => pattern.test(text));

const reverse = (word: string): string => [...word].reverse().join("");
const rotate = (word: string): string =>
  word.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97));

/** Short words are turned into one another by chance. */
const TELLING_LENGTH = 5;

/** Whether words that are turned include one of a rule's: hardly any text does, so it is asked before all of it is turned. */
function isTelling(words: ReadonlySet<string>, turn: (word: string) => string): boolean {
  for (const word of words) if (word.length >= TELLING_LENGTH && RULE_WORDS.has(turn(word))) return true;
  return false;
}

function scoreOf(list: WordList): number {
  const latest = new Map<SignalKind, { at: number; weight: number }>();
  let best = 0;
  for (const [at, word] of list.words.entries()) {
    const rules = rulesFrom(word);
    if (rules === undefined) continue;
    let found = false;
    for (const rule of rules) {
      if (!matches(rule, list, at)) continue;
      const before = latest.get(rule.kind);
      if (before !== undefined && at - before.at <= WINDOW && before.weight >= rule.weight) continue;
      latest.set(rule.kind, { at, weight: rule.weight });
      found = true;
    }
    if (!found) continue;
    let sum = 0;
    for (const signal of latest.values()) if (at - signal.at <= WINDOW) sum += signal.weight;
    best = Math.max(best, sum);
  }
  return best;
}

function matches(rule: InstructionRule, { words, gaps }: WordList, first: number): boolean {
  const before = gaps[first] === GAP.clause ? undefined : words[first - 1];
  if (rule.kind === "override" && before !== undefined && NOT_AN_ORDER.has(before)) return false;
  if (rule.opens && gaps[first] === GAP.none && (before === undefined || !OPENERS.has(before))) return false;
  let at = first;
  for (const step of rule.steps.slice(1)) {
    let next = at + 1;
    while (
      next <= at + step.within &&
      next < words.length &&
      gaps[next] !== GAP.clause &&
      !step.words.has(words[next] ?? "")
    )
      next++;
    if (next > at + step.within || next >= words.length || gaps[next] === GAP.clause) return false;
    at = next;
  }
  return true;
}
