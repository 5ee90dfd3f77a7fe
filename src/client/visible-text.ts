/** What a model should see of a text that somebody else wrote: nothing hidden, and lines where it looks as if there were lines. */

/** Characters without a shape: bidi controls, zero-width spaces, tags, fillers. Joiners and emoji selectors are spared at first. */
const INVISIBLE = /(?!(?:\u200c|\u200d|\ufe0e|\ufe0f))[\p{Default_Ignorable_Code_Point}\u061c\ufff9-\ufffb]/gu;
/** One joiner or selector is ordinary in Persian, Hindi and emoji; a row of them carries bits. */
const JOINER_RUN = /(?:\u200c|\u200d|\ufe0e|\ufe0f){2,}/g;
/** As in an emoji of two parts. */
const SELECTOR_AND_JOINER = "\ufe0f\u200d";
/** Whatever starts a new line somewhere. */
const LINE_BREAK = /\r\n|[\r\v\f\u0085\u2028\u2029]/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Line breaks become `\n`; invisible characters are dropped; other control characters become a sign that shows them; lone
 * surrogates become U+FFFD.
 */
export const visibleText = (text: string): string =>
  text
    .toWellFormed()
    .replace(LINE_BREAK, "\n")
    .replace(INVISIBLE, "")
    .replace(JOINER_RUN, (run) => (run === SELECTOR_AND_JOINER ? run : ""))
    .replace(CONTROL, controlSign);

/** U+2400 and on are pictures of the first 32 controls; ESC is ␛. */
function controlSign(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** A piece of one line, quoted, so that nothing after it can seem to be part of it, or it part of what follows. */
export function quoted(text: string, maxCharacters: number): string {
  const characters = Array.from(visibleText(text).replace(/\s+/g, " ").trim());
  const isCut = characters.length > maxCharacters;
  return JSON.stringify(characters.slice(0, maxCharacters).join("") + (isCut ? "…" : ""));
}
