import pg from "pg";

/** One row as every implementation of `Database` gives it. */
export type DatabaseRow = Readonly<Record<string, unknown>>;

type Parse = (text: string) => unknown;

/** A number where it is exact, so that counts are plain numbers and a 64-bit fingerprint loses no bit. */
const integer: Parse = (text) => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
};

/** A plain Uint8Array with a buffer of its own: Node's Buffer may be a window on a shared one. */
const bytes: Parse = (text) => {
  if (!text.startsWith("\\x")) throw new Error("the database writes bytea in another format than hex");
  return new Uint8Array(Buffer.from(text.slice(2), "hex"));
};

/** Of text[]; pg's own list of OIDs names only scalar types. */
const textArray: (text: string) => (string | null)[] = pg.types.getTypeParser(1009 as number);

const arrayOf =
  (parse: Parse): Parse =>
  (text) =>
    textArray(text).map((item) => (item === null ? null : parse(item)));

const boolean: Parse = (text) => text === "t";
const timestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as Parse;

/** By type OID. Types that are not listed, halfvec among them, stay the text that Postgres writes. */
const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [16, boolean],
  [17, bytes],
  [20, integer],
  [21, Number],
  [23, Number],
  [26, Number],
  [114, JSON.parse],
  [700, Number],
  [701, Number],
  [1184, timestamp],
  [1700, Number],
  [3802, JSON.parse],
  [1000, arrayOf(boolean)],
  [1002, textArray],
  [1003, textArray],
  [1005, arrayOf(Number)],
  [1007, arrayOf(Number)],
  [1009, textArray],
  [1015, textArray],
  [1016, arrayOf(integer)],
  [1021, arrayOf(Number)],
  [1022, arrayOf(Number)],
  [1028, arrayOf(Number)],
  [1231, arrayOf(Number)],
]);

const asText: Parse = (text) => text;

/** How a column's text becomes the value that decoders see. */
export const parserOf = (typeOid: number): Parse => PARSERS.get(typeOid) ?? asText;
