import { isUtf8 } from "node:buffer";

const BASE64 = /[A-Za-z0-9+/]{24,}={0,2}/g;
const READABLE = /^[\t\n\r\x20-\x7e\u00a0-\uffff]+$/;

/** What Base64 in a text says, where it says something readable. */
export function encodedParts(text: string): string[] {
  const parts: string[] = [];
  for (const [encoded] of text.matchAll(BASE64)) {
    const bytes = Buffer.from(encoded, "base64");
    if (!bytes.includes(" ") || !isUtf8(bytes)) continue;
    const decoded = bytes.toString("utf8");
    if (READABLE.test(decoded)) parts.push(decoded);
  }
  return parts;
}
