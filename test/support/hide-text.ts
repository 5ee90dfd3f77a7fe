/** Ways to write a text so that a reader of the page does not see it, or a filter of words does not, while a model still reads it. */

const letters = (text: string, change: (letter: string) => string) => text.replace(/[A-Za-z]/g, change);
const between = (separator: string) => (text: string) => text.replace(/(?<=[A-Za-z])(?=[A-Za-z])/g, separator);
const codes = (write: (code: number) => string) => (text: string) =>
  letters(text, (letter) => write(letter.charCodeAt(0)));
const table = (from: string, to: string) => {
  const pairs = new Map([...to].map((letter, index) => [from[index], letter]));
  return (text: string) => letters(text, (letter) => pairs.get(letter) ?? letter);
};
/** An alphabet that begins with its capitals at one code point and its small letters at another. */
const alphabet = (capitals: number, small: number) =>
  codes((code) => String.fromCodePoint(code < 97 ? capitals + code - 65 : small + code - 97));
const bytes = (text: string) => [...Buffer.from(text)];
const MORSE =
  ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..".split(
    " ",
  );
const SMALL = "abcdefghijklmnopqrstuvwxyz";

export const TECHNIQUES = {
  // characters that show nothing
  "zero-width spaces between letters": between("\u200b"),
  "zero-width joiners between letters": between("\u200d"),
  "word joiners between letters": between("\u2060"),
  "a byte order mark in each word": (text: string) => text.replace(/\b(\w)(?=\w)/g, "$1\ufeff"),
  "Hangul fillers between letters": between("\u3164"),
  "soft hyphens between letters": between("\u00ad"),
  "variation selectors after letters": (text: string) => letters(text, (letter) => `${letter}\ufe0f`),
  "bytes in variation selectors": (text: string) =>
    `a${String.fromCodePoint(...bytes(text).map((byte) => (byte < 16 ? 0xfe00 : 0xe0100 - 16) + byte))}`,
  "binary in zero-width characters": (text: string) =>
    bytes(text)
      .map((byte) => byte.toString(2).padStart(8, "0").replaceAll("0", "\u200b").replaceAll("1", "\u200c"))
      .join(""),
  "tag characters": (text: string) => String.fromCodePoint(...bytes(text).map((byte) => 0xe0000 + byte)),
  "backwards under a right-to-left override": (text: string) => `\u202e${[...text].reverse().join("")}\u202c`,
  "combining marks on letters": (text: string) => letters(text, (letter) => `${letter}\u0335\u0301`),
  "a terminal's conceal": (text: string) => `\u001b[8m${text}\u001b[0m`,
  // markup that shows nothing
  "HTML comment": (text: string) => `<p>Hours</p><!-- ${text} -->`,
  "display: none": (text: string) => `<div style="display:none">${text}</div>`,
  "display: none, its words in elements": (text: string) =>
    `<div style="display:none"><p><b>${text.replace(/ /g, "</b> <b>")}</b></p></div>`,
  "font-size: 0": (text: string) => `<span style='font-size:0px'>${text}</span>`,
  "white text": (text: string) => `<span style="color: #FFFFFF">${text}</span>`,
  "white text by attribute": (text: string) => `<font color="white">${text}</font>`,
  "off the screen": (text: string) => `<div style="position:absolute;left:-9999px">${text}</div>`,
  "hidden attribute": (text: string) => `<div hidden>${text}</div>`,
  "HTML template": (text: string) => `<template>${text}</template>`,
  "HTML alt text": (text: string) => `<img src="a.png" alt="${text.replaceAll('"', "&quot;")}">`,
  "HTML title": (text: string) => `<a href="/a" title="${text.replaceAll('"', "&quot;")}">more</a>`,
  "HTML meta": (text: string) => `<meta name="description" content="${text.replaceAll('"', "&quot;")}">`,
  "Markdown comment": (text: string) => `\n\n[//]: # (${text})\n`,
  "Markdown link title": (text: string) => `[more](https://example.org/a "${text.replaceAll('"', "'")}")`,
  "Markdown alt text": (text: string) => `![${text}](https://example.org/a.png)`,
  // other letters
  "Cyrillic look-alikes": table("aceiopsxyABCEHIKMOPTXjh", "асеіорѕхуАВСЕНІКМОРТХјһ"),
  "Greek look-alikes": table("aeiknopuvxyABEHIKMNOPTXYZ", "αεικηορυνχγΑΒΕΗΙΚΜΝΟΡΤΧΥΖ"),
  "full width": alphabet(0xff21, 0xff41),
  "mathematical bold": alphabet(0x1d400, 0x1d41a),
  "mathematical fraktur": alphabet(0x1d56c, 0x1d586),
  "mathematical monospace": alphabet(0x1d670, 0x1d68a),
  "letters in circles": alphabet(0x24b6, 0x24d0),
  "letters in squares": (text: string) => alphabet(0x1f130, 0x1f130)(text.toUpperCase()),
  "regional indicators": (text: string) =>
    letters(text.toUpperCase(), (letter) => `${String.fromCodePoint(0x1f1e6 + letter.charCodeAt(0) - 65)}\u200b`),
  "small capitals": (text: string) => table(SMALL, "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ")(text.toLowerCase()),
  "superscript letters": (text: string) => table(SMALL, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖqʳˢᵗᵘᵛʷˣʸᶻ")(text.toLowerCase()),
  accents: table("aeiounycsAEIOU", "àéîöúñýçšÀÉÎÖÚ"),
  leetspeak: table("aeiostAEIOST", "431057431057"),
  // other spellings
  "letters apart, words wider apart": (text: string) => between(" ")(text.replaceAll(" ", "   ")),
  "letters apart, words no wider": (text: string) => [...text.replaceAll(" ", "")].join(" "),
  "dots between letters": between("."),
  "hyphens between letters": between("-"),
  "underscores for spaces": (text: string) => text.replaceAll(" ", "_"),
  "a word a line": (text: string) => text.replaceAll(" ", "\n"),
  "changing case": (text: string) => [...text].map((one, n) => (n % 2 ? one.toUpperCase() : one)).join(""),
  "HTML entities, decimal": codes((code) => `&#${code};`),
  "HTML entities, hexadecimal": codes((code) => `&#x${code.toString(16)};`),
  "escapes of programs": codes((code) => `\\u${code.toString(16).padStart(4, "0")}`),
  "escapes of addresses": (text: string) =>
    bytes(text)
      .map((byte) => `%${byte.toString(16).padStart(2, "0")}`)
      .join(""),
  Base64: (text: string) => Buffer.from(text).toString("base64"),
  "Base64 for addresses": (text: string) => Buffer.from(text).toString("base64url"),
  "Base64 in lines": (text: string) => Buffer.from(text).toString("base64").replace(/.{40}/g, "$&\n"),
  hexadecimal: (text: string) => Buffer.from(text).toString("hex"),
  ROT13: codes((code) => String.fromCharCode(code + ((code & 31) > 13 ? -13 : 13))),
  backwards: (text: string) => [...text].reverse().join(""),
  // two at once
  "Base64 in an HTML comment": (text: string) => `<!-- ${Buffer.from(text).toString("base64")} -->`,
  "HTML entities in a hidden element": (text: string) =>
    `<div style="display:none">${codes((code) => `&#${code};`)(text)}</div>`,
  "zero-width spaces among Cyrillic look-alikes": (text: string) =>
    table("aceiopsxy", "асеіорѕху")(between("\u200b")(text)),
} as const satisfies Record<string, (text: string) => string>;

/** Further techniques, by which the screen was tried after it knew those above. */
export const OTHER_TECHNIQUES = {
  "emoji between letters": between("\u{1f600}"),
  "bars between letters": between("|"),
  "tags between letters": between("<b></b>"),
  "comments between letters": between("<!-- -->"),
  "invisible operators between letters": between("\u2063"),
  "Mongolian separators between letters": between("\u180e"),
  "each word backwards": (text: string) => text.replace(/[A-Za-z]+/g, (word) => [...word].reverse().join("")),
  "letters upside down": (text: string) =>
    table(SMALL, "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz")([...text.toLowerCase()].reverse().join("")),
  "letters of other scripts that look alike": table("aeghnoqsuwLSU", "аҽցհոօզѕսաԼՏՍ"),
  "no blanks": (text: string) => text.replaceAll(" ", ""),
  "vowels left out": (text: string) => text.replace(/(?<=[A-Za-z])[aeiou]/g, ""),
  Morse: (text: string) => text.toLowerCase().replace(/[a-z]/g, (letter) => `${MORSE[letter.charCodeAt(0) - 97]} `),
  Braille: (text: string) => table(SMALL, "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵")(text.toLowerCase()),
  "decimal bytes": (text: string) => bytes(text).join(" "),
  "binary digits": (text: string) =>
    bytes(text)
      .map((byte) => byte.toString(2).padStart(8, "0"))
      .join(" "),
  "white text in LaTeX": (text: string) => `\\textcolor{white}{${text}}`,
  "an element without height": (text: string) => `<div style="height:0;overflow:hidden">${text}</div>`,
  "a script of no known type": (text: string) => `<script type="text/x-note">${text}</script>`,
} as const satisfies Record<string, (text: string) => string>;
