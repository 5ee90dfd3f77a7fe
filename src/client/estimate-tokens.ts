/**
 * How many tokens a text has at most, for ordinary texts and the tokenizers in use: letters and blanks of ASCII count a third of a
 * token, other ASCII a whole one, and other characters half a token a byte. English comes out about half as long again as it is.
 */
export function estimateTokens(text: string): number {
  let sixths = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x80) sixths += 3 * utf8Length(code);
    else sixths += /[A-Za-z ]/.test(character) ? 2 : 6;
  }
  return Math.ceil(sixths / 6);
}

const utf8Length = (code: number): number => (code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
