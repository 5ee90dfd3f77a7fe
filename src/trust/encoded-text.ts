/** Base64 of either alphabet, also in lines. */
const BASE64 = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*/g;
/** Bytes in hexadecimal or binary, together or apart. */
const HEXADECIMAL = /(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}[ :,]?){16,}/g;
const BINARY = /(?<![01])(?:[01]{8}[ ,\n]?){16,}/g;
/** A piece of text, words with blanks between them, among bytes that may be anything. */
const READABLE = /[\t\n\r\x20-\x7e\u00a0-\ufffc]{12,}/g;

/** What bytes written as text say, where they say something readable. */
export function encodedParts(text: string): string[] {
  return [
    ...readable(text, BASE64, (encoded) => Buffer.from(encoded, "base64")),
    ...readable(text, HEXADECIMAL, (encoded) => Buffer.from(encoded.replace(/[ :,]/g, ""), "hex")),
    ...readable(text, BINARY, (encoded) =>
      Uint8Array.from(encoded.match(/[01]{8}/g) ?? [], (bits) => Number.parseInt(bits, 2)),
    ),
  ];
}

function readable(text: string, encoding: RegExp, decode: (encoded: string) => Uint8Array): string[] {
  return [...text.matchAll(encoding)].flatMap(([encoded]) => {
    const parts = Buffer.from(decode(encoded)).toString("utf8").match(READABLE) ?? [];
    return parts.filter((part) => part.includes(" "));
  });
}
