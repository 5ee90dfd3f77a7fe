import {
  arabic,
  armenian,
  basque,
  catalan,
  czech,
  danish,
  dutch,
  english,
  esperanto,
  estonian,
  finnish,
  french,
  german,
  greek,
  hindi,
  hungarian,
  indonesian,
  irish,
  italian,
  lithuanian,
  nepali,
  norwegian,
  persian,
  polish,
  portuguese,
  romanian,
  russian,
  serbian,
  sesotho,
  spanish,
  swedish,
  tamil,
  turkish,
  yiddish,
} from "multilingual-stemmer";

const unchanged = (word: string): string => word;

/** How each language cuts a lower-case word to its stem: Snowball 3.1, or not at all. */
const STEMMERS = {
  arabic,
  armenian,
  basque,
  catalan,
  chinese: unchanged,
  czech,
  danish,
  dutch,
  english,
  esperanto,
  estonian,
  finnish,
  french,
  german,
  greek,
  hindi,
  hungarian,
  indonesian,
  irish,
  italian,
  japanese: unchanged,
  korean: unchanged,
  lithuanian,
  nepali,
  none: unchanged,
  norwegian,
  persian,
  polish,
  portuguese,
  romanian,
  russian,
  serbian,
  sesotho,
  spanish,
  swedish,
  tamil,
  thai: unchanged,
  turkish,
  yiddish,
} as const satisfies Record<string, (word: string) => string>;

/** A language that a corpus may have. `none` divides words as every other and stems none. */
export type Language = keyof typeof STEMMERS;

/** Every language's name, in alphabetical order. */
export const LANGUAGES: readonly Language[] = Object.freeze(Object.keys(STEMMERS).sort() as Language[]);

export const isLanguage = (name: string): name is Language => Object.hasOwn(STEMMERS, name);

/** @throws Error for a name that is no language: a corpus is only made with one of `LANGUAGES` */
export function stemmerFor(language: string): (word: string) => string {
  if (!isLanguage(language)) throw new Error("a corpus language must be one of catalog/languages.ts");
  return STEMMERS[language];
}
