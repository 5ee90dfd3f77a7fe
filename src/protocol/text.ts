/** Facts about strings that the wire rules need. Nothing here changes a string. */

// Strict: a lenient decoder would turn bad bytes into U+FFFD. With ignoreBOM a byte order mark stays in the text, where JSON.parse
// refuses it.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws TypeError for bytes that are no UTF-8 */
export const decodeUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes);

/** Length of a string in UTF-8 bytes; a lone surrogate counts as the 3 bytes of U+FFFD. */
export const utf8Bytes = (text: string): number => Buffer.byteLength(text, "utf8");

/** False for a string with a lone surrogate, which no UTF-8 store can keep. */
export const isWellFormed = (text: string): boolean => text.isWellFormed();

export const hasNul = (text: string): boolean => text.includes("\u0000");

/** Compares well-formed texts by their UTF-8 bytes, as Postgres does under `collate "C"`. UTF-16 order differs above U+FFFF. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const unit = a.charCodeAt(at);
    const other = b.charCodeAt(at);
    if (unit !== other) return utf8Rank(unit) - utf8Rank(other);
  }
  return a.length - b.length;
}

/** Surrogates stand for what comes after all that one unit stands for. */
const utf8Rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
