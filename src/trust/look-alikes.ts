/** Letters of other scripts, and Latin ones with a stroke or in small capitals, that look like the plain ones below them. */
const TABLES: readonly (readonly [foreign: string, latin: string])[] = [
  ["аеорсухіјѕԁһԛԝкмтвнпгьӏѵԍ", "aeopcyxijsdhqwkmtbhnrblvg"],
  ["АВЕЅІЈКМНОРСТУХԌԚԜЬҮ", "ABESIJKMHOPCTYXGQWBY"],
  ["αβγεηικνορςτυχωϲϳ", "abyenikvopctuxwcj"],
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϿ", "ABEZHIKMNOPTYXCC"],
  ["օոսհցյզաҽԼՏՍ", "onuhgjqweLSU"],
  ["ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"],
  ["ǫɡɑıɩɾłøđħŧƒßẞ", "qgaiirlodhtfbb"],
];

const LATIN_OF = new Map(
  TABLES.flatMap(([foreign, latin]) => [...foreign].map((letter, index) => [letter, latin[index] ?? letter] as const)),
);

const HAS_FOREIGN = /[^\0-\x7f]/;
const FOREIGN_LETTER = /[^\0-\x7f]/gu;

/**
 * A word with look-alikes written as the letters that they pass for. A word that also has letters which look like no Latin one, and
 * no Latin letter, is a word of its own script and stays.
 */
export function writeLookAlikes(word: string): string {
  const latin = word.replace(FOREIGN_LETTER, (letter) => LATIN_OF.get(letter) ?? letter);
  return /[a-z]/i.test(word) || !HAS_FOREIGN.test(latin) ? latin : word;
}
