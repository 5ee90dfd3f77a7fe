import { plainWord } from "./word-list.ts";

/** What a phrase does. Phrases of different kinds close together add up. */
export type SignalKind =
  | "override"
  | "leak"
  | "persona"
  | "unchained"
  | "addresses-model"
  | "shapes-reply"
  | "dictates-reply"
  | "header"
  | "acts-on-user"
  | "secret"
  | "decode"
  | "visit";

/** A sequence of words: each step is found within `within` words of the one before, in the same clause. */
export interface InstructionRule {
  readonly kind: SignalKind;
  /** 1 is enough alone. */
  readonly weight: number;
  /** Only where a clause begins, or after a word such as `please`. */
  readonly opens: boolean;
  readonly steps: readonly { readonly words: ReadonlySet<string>; readonly within: number }[];
}

/** Classes of words, named in capitals in the rules below. Imperatives only: what somebody did is a story, not an order. */
const CLASSES: Readonly<Record<string, string>> = {
  IGNORE: `ignore disregard forget forgotten bypass override overlook neglect discard abandon ignorez oubliez oublie ignoriere
    ignorieren vergiss vergesst missachte missachten ignora ignorad olvida olvide olviden ignorate dimentica dimenticate esqueça
    esquece esqueçam negeer vergeet ignorera ignorer glöm glem zignoruj zapomnij игнорируй игнорируйте проигнорируй проигнорируйте
    забудь забудьте`,
  IGNORE_IT: "ignore disregard forget abandon",
  PRIOR: `previous previously prior preceding earlier above foregoing former existing original initial your system précédentes
    précédents vorherigen vorherige vorigen bisherigen obigen früheren anteriores anterior previas previos precedenti vorige
    eerdere bovenstaande tidigare föregående poprzednie предыдущие предыдущих прежние прошлые`,
  ALL: "all any every toutes tous alle allen todas todos tutte tutti alla wszystkie все",
  RULES: `instruction instructions prompt prompts directive directives guideline guidelines rules orders command commands
    constraints programming training safeguards consigne consignes directives règles ordres anweisung anweisungen anordnungen
    regeln befehle vorgaben instrucciones instrucción reglas órdenes indicaciones istruzioni regole ordini instruções regras ordens
    instructies opdrachten regels instruktioner instruksjoner instrukcje polecenia инструкции инструкций указания правила команды`,
  TOLD: "you before above previously earlier prior précédentes précédents antérieures anteriores previas precedenti anteriormente",
  SAID: "you above previously previous told said",
  EVERYTHING: "everything anything all",
  OBEY: "follow obey listen heed comply adhere",
  NOT: "not never don't stop",
  EARLIER: "previous previously prior preceding earlier above foregoing original initial system",
  INFORMATION: "information context text messages conversation",
  TASK: "task tasks job assignment request",
  CURRENT: "current present previous original this your user's",
  REVEAL: "reveal show print repeat output display disclose leak expose divulge recite dump tell give write summarize",
  LEAK: "output reveal print dump leak disclose expose divulge recite",
  HIDDEN: "your system hidden initial secret original internal developer confidential",
  PROMPT: "prompt prompts instruction instructions rules guidelines directive directives",
  YOU: "you you'll you're",
  BECOME: "act pretend behave respond roleplay immerse play",
  MODEL: "ai assistant chatbot llm gpt chatgpt bot dan copilot",
  ADDRESSED: "ai assistant chatbot llm gpt chatgpt",
  UNCHAINED: "unfiltered uncensored unrestricted amoral jailbroken unethical unbound rogue evil",
  LIMITS: "restrictions limitations moderation censorship filters confines safeguards ethics morals norms",
  FREE: "no without any free bypass break broken bound freed override lift remove",
  LIMITED: "limited bound restricted constrained",
  REPLY: "response responses reply replies answer answers output outputs summary completion elucidation",
  RESHAPE: `encode translate render reverse invert shift express convert rephrase rewrite augment enhance modify start begin end prefix
    append substitute replace`,
  RESPOND: "respond reply answer",
  SCRAMBLE: "encode translate reverse invert shift render obfuscate scramble",
  WRITTEN: "message text words letters",
  USE: "use apply employ",
  RETURNED: "response reply",
  PLACE: "start end beginning top bottom",
  BY: "in using with as",
  MANNER: `encoding emojis emoji cipher reverse backwards base64 base32 base16 base58 rot13 german spanish french italian portuguese
    chinese`,
  INSERT: "add include insert integrate mention incorporate embed append introduce place",
  MENTION: "include mention suggest add state provide insert recommend",
  INTO: "in into to within of with for",
  SAY: "respond reply answer output say print write state",
  ONLY: "only exactly just verbatim nothing solely",
  TELL: "tell inform convince instruct persuade advise notify warn urge direct trick",
  USER: "user users",
  COLLECT: "include extract collect send forward upload reveal repeat transmit exfiltrate steal",
  SECRET: "password passwords ssn credentials secrets conversation",
  DECODE: "decode decrypt decipher",
  RUN: "execute obey follow run perform",
  NEW: "new updated revised real actual priority hidden secret",
  INSTRUCTION: "instruction instructions directive directives objective prompt orders",
  ANNOUNCED: "instruction instructions override directive prompt note message",
  VISIT: "visit click",
  ABOUT_TO: "summarizing summarising answering responding replying translating",
};

const RULES: readonly (readonly [kind: SignalKind, weight: number, phrase: string])[] = [
  ["override", 1, "IGNORE 4 PRIOR 4 RULES"],
  ["override", 1, "IGNORE 4 RULES 3 TOLD"],
  ["override", 1, "IGNORE 1 EVERYTHING 3 SAID"],
  ["override", 0.7, "IGNORE 2 ALL 3 RULES"],
  ["override", 1, "NOT 1 OBEY 4 EARLIER 4 RULES"],
  ["override", 1, "NOT 1 OBEY 4 EARLIER 2 INFORMATION"],
  ["override", 0.6, "^ IGNORE 2 CURRENT 3 TASK"],
  ["override", 0.4, "^ IGNORE_IT"],
  ["override", 0.5, "your 2 NEW 2 INSTRUCTION"],
  ["override", 0.6, "instead 1 SAY"],
  ["header", 0.5, "^ NEW 1 INSTRUCTION"],
  ["header", 0.6, "MODEL 1 ANNOUNCED"],
  ["header", 0.6, "system 1 override"],
  ["header", 0.4, "^ INSTRUCTION"],
  ["leak", 1, "REVEAL 2 HIDDEN 3 PROMPT"],
  ["leak", 1, "LEAK 2 EARLIER 2 PROMPT"],
  ["leak", 1, "what 2 your 2 HIDDEN 1 PROMPT"],
  ["persona", 0.5, "from 1 now 1 on 6 YOU"],
  ["persona", 0.6, "YOU 4 BECOME 1 as"],
  ["persona", 0.6, "YOU 4 pretend 1 to"],
  ["persona", 0.4, "^ pretend 3 be"],
  ["persona", 0.5, "^ imagine 2 YOU"],
  ["persona", 0.6, "you 1 are 5 MODEL"],
  ["persona", 0.6, "you're 5 MODEL"],
  ["persona", 0.6, "you 2 be 2 called"],
  ["persona", 0.6, "developer 1 mode 1 enabled"],
  ["persona", 1, "dan 1 mode"],
  ["unchained", 1, "do 1 anything 1 now"],
  ["unchained", 0.6, "UNCHAINED 3 MODEL"],
  ["unchained", 0.4, "FREE 4 LIMITS"],
  ["unchained", 0.5, "not 1 LIMITED 1 by"],
  ["addresses-model", 0.6, "to 1 ADDRESSED"],
  ["addresses-model", 0.4, "^ ADDRESSED"],
  ["addresses-model", 0.8, "if 1 you 1 are 5 MODEL"],
  ["addresses-model", 0.5, "ABOUT_TO 5 include"],
  ["shapes-reply", 1, "^ RESHAPE 1 your 3 REPLY"],
  ["shapes-reply", 1, "you 1 RESHAPE 1 your 3 REPLY"],
  ["shapes-reply", 0.8, "^ RESPOND 1 BY 2 MANNER"],
  ["shapes-reply", 0.8, "you 1 RESPOND 1 BY 2 MANNER"],
  ["shapes-reply", 1, "your 1 REPLY 1 BY 2 MANNER"],
  ["shapes-reply", 1, "^ INSERT 16 INTO 1 your 1 REPLY"],
  ["shapes-reply", 1, "SCRAMBLE 1 your 1 WRITTEN"],
  ["shapes-reply", 1, "^ USE 12 INTO 1 your 1 RETURNED"],
  ["shapes-reply", 1, "^ in 1 your 1 REPLY 1 MENTION"],
  ["shapes-reply", 0.8, "at 1 the 1 PLACE 1 of 1 your 1 REPLY"],
  ["shapes-reply", 0.6, "^ in 1 your 1 REPLY"],
  ["shapes-reply", 0.8, "your 1 only 1 REPLY"],
  ["shapes-reply", 0.6, "REPLY 3 must 1 RESHAPE"],
  ["shapes-reply", 0.3, "your 1 REPLY"],
  ["dictates-reply", 0.5, "SAY 2 ONLY"],
  ["dictates-reply", 0.4, "just 1 SAY"],
  ["dictates-reply", 0.4, "and 1 nothing 1 else"],
  ["acts-on-user", 0.5, "TELL 2 USER"],
  ["secret", 0.5, "COLLECT 5 SECRET"],
  ["decode", 0.6, "DECODE 4 RUN"],
  ["visit", 0.2, "VISIT"],
];

const CLASS = new Map(Object.entries(CLASSES).map(([name, list]) => [name, new Set(list.split(/\s+/).map(plainWord))]));

function readRule([kind, weight, phrase]: (typeof RULES)[number]): InstructionRule {
  const parts = phrase.split(" ");
  const opens = parts[0] === "^";
  const steps: { words: ReadonlySet<string>; within: number }[] = [];
  let within = 0;
  for (const part of opens ? parts.slice(1) : parts) {
    if (/^\d+$/.test(part)) within = Number(part);
    else steps.push({ words: CLASS.get(part) ?? new Set([plainWord(part)]), within });
  }
  return { kind, weight, opens, steps };
}

const byFirstWord = new Map<string, InstructionRule[]>();
for (const rule of RULES.map(readRule)) {
  for (const word of rule.steps[0]?.words ?? []) byFirstWord.set(word, [...(byFirstWord.get(word) ?? []), rule]);
}

/** The rules that a phrase beginning with this word can follow. */
export const rulesFrom = (word: string): readonly InstructionRule[] | undefined => byFirstWord.get(word);

/** Every word of any rule. */
export const RULE_WORDS: ReadonlySet<string> = new Set(
  [...byFirstWord.values()].flat().flatMap((rule) => rule.steps.flatMap(({ words }) => [...words])),
);
