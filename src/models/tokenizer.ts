import { Tokenizer } from "@huggingface/tokenizers";

/** Gives the ids of a text's tokens in the model's vocabulary, special tokens included, uncut. */
export type TokenIds = (text: string) => number[];

/**
 * A tokenizer that gives the ids the model was trained with.
 *
 * Texts are normalised to NFC first, so that one text has one vector however its accents were typed.
 *
 * @param definition the parsed `tokenizer.json` of the model
 */
export function loadTokenizer(definition: unknown): TokenIds {
  const tokenizer = new Tokenizer(definition as object, {});
  return (text) => tokenizer.encode(lowerSigma(text.normalize("NFC"))).ids;
}

// The reference tokenizer lower-cases letter by letter, JavaScript by word: it makes a final sigma of Σ where the reference
// makes a plain one.
function lowerSigma(text: string): string {
  return text.replaceAll("Σ", "σ");
}

/** The first `maxTokens` ids, of which the last stays the closing special token. */
export function cutTokens(ids: readonly number[], maxTokens: number): readonly number[] {
  const closing = ids.at(-1);
  return ids.length <= maxTokens || closing === undefined ? ids : [...ids.slice(0, maxTokens - 1), closing];
}
