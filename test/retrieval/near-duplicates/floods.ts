import type { SeededRandom } from "../../support/seeded-random.ts";

/** A passage as words and what stands between them, and where words to put in come from. */
export interface Passage {
  readonly words: readonly string[];
  readonly separator: string;
  readonly vocabulary: readonly string[];
}

/** From 0 up to, not including, `count`. */
export const below = (random: SeededRandom, count: number): number => random.integer(0, count - 1);

type Flood = (passage: Passage, random: SeededRandom) => string;

/** Ways to make one of many copies of a passage. */
export const FLOODS: Readonly<Record<string, Flood>> = {
  exact: ({ words, separator }) => words.join(separator),
  "case, marks, line breaks": ({ words, separator }, random) =>
    words
      .map((word) => (random.fraction() < 0.2 ? word.toUpperCase() : word) + (random.fraction() < 0.2 ? "," : ""))
      .join(separator === "" ? "" : random.pick([" ", "  ", "\n"])),
  "hidden characters": ({ words, separator }, random) =>
    words
      .map((word) => (word.length > 1 && random.fraction() < 0.3 ? `${word.slice(0, 1)}\u200b${word.slice(1)}` : word))
      .join(separator),
  "one word": (passage, random) => swapped(passage, 1, random),
  "a number and an id": ({ words, separator }, random) =>
    [...words.slice(0, 5), `${below(random, 1e5)}`, ...words.slice(5), "ref", `A-${below(random, 1e6)}`].join(
      separator,
    ),
  "suffix of 1-20 %": (passage, random) => [...passage.words, ...some(passage, random)].join(passage.separator),
  "prefix of 1-20 %": (passage, random) => [...some(passage, random), ...passage.words].join(passage.separator),
  "pieces of 20 words in another order": ({ words, separator }, random) => {
    const length = Math.ceil(words.length / Math.max(2, Math.round(words.length / 20)));
    const pieces = Array.from({ length: Math.ceil(words.length / length) }, (_, n) =>
      words.slice(n * length, (n + 1) * length),
    );
    const keyed = pieces.map((piece) => ({ piece, key: below(random, 1e9) }));
    return keyed
      .toSorted((a, b) => a.key - b.key)
      .flatMap(({ piece }) => piece)
      .join(separator);
  },
  "5 % of words": (passage, random) => swapped(passage, 0.05 * passage.words.length, random),
  "10 % of words": (passage, random) => swapped(passage, 0.1 * passage.words.length, random),
  "20 % of words": (passage, random) => swapped(passage, 0.2 * passage.words.length, random),
};

function swapped({ words, separator, vocabulary }: Passage, count: number, random: SeededRandom): string {
  const copy = [...words];
  for (let n = 0; n < Math.max(1, Math.round(count)); n++) copy[below(random, copy.length)] = random.pick(vocabulary);
  return copy.join(separator);
}

/** Other words, 1 to 20 % as many. */
const some = ({ words, vocabulary }: Passage, random: SeededRandom): string[] =>
  Array.from({ length: Math.max(1, Math.round((words.length * (1 + below(random, 20))) / 100)) }, () =>
    random.pick(vocabulary),
  );
