import type { SeededRandom } from "../seeded-random.ts";

/** A document as a test sends it. */
export interface SentDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** A word of every document's title, so that one query finds every chunk. */
export const COMMON_WORD = "record";

const SYLLABLES = ["ka", "mo", "ti", "ru", "ne", "so", "li", "va", "pe", "du", "zi", "ho"] as const;
/** Some with letters outside ASCII and outside the first plane: there, offsets in code points are not those in UTF-16 units. */
const WORDS = [
  "größe",
  "émeu",
  "𐐨𐐩𐐪",
  ...SYLLABLES.flatMap((first) => SYLLABLES.flatMap((second) => [first + second, `${first}${second}ka`])),
];
/** Of the documents, each time. */
const CHANGED_SHARE = 0.7;

/** A few words are in most texts, most words in few. */
export const randomWord = (random: SeededRandom): string =>
  WORDS[Math.floor(WORDS.length * random.fraction() ** 2)] ?? COMMON_WORD;

export function randomDocuments(random: SeededRandom, count: number): SentDocument[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `doc-${String(index).padStart(4, "0")}`;
    return { id, title: `${COMMON_WORD} ${id}`, text: randomText(random) };
  });
}

/** The same documents, most of them with another text. */
export function revise(random: SeededRandom, documents: readonly SentDocument[]): SentDocument[] {
  return documents.map((document) =>
    random.fraction() < CHANGED_SHARE ? { ...document, text: randomText(random) } : document,
  );
}

/** Three in five texts are short enough for one chunk; the others have several. */
function randomText(random: SeededRandom): string {
  const sentences = random.fraction() < 0.6 ? 1 : random.integer(5, 10);
  return Array.from({ length: sentences }, () => randomSentence(random)).join(random.pick([" ", "\n", "\n\n"]));
}

function randomSentence(random: SeededRandom): string {
  const words = Array.from({ length: random.integer(6, 12) }, () => randomWord(random));
  return `${words.join(" ")} 👍.`.replace(/^./, (letter) => letter.toUpperCase());
}
