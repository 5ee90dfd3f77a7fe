import { createHash } from "node:crypto";

/**
 * A text for a prompt, between two lines that say where it begins and ends. Their mark is taken from the text's own hash: the
 * same text has the same mark, and nobody can write a text that holds its own end.
 *
 * @param name what the text is, as the prompt calls it
 */
export function markData(name: string, text: string): string {
  const mark = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `<${name} ${mark}>\n${text}\n</${name} ${mark}>`;
}
