import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Source, SourceDocument, SourceItem } from "./import-source.ts";
import { readLines } from "./lines.ts";

/** JSONL with `{id, title, text, meta}` in each line, as `pgrcp documents export` writes it. */

/** A line that no server takes; it is passed over without being kept in memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

export function openJsonl(path: string, size: number): Source {
  return { path, size, items: () => readItems(path) };
}

async function* readItems(path: string): AsyncIterable<SourceItem> {
  let number = 0;
  for await (const { bytes, size } of readLines(createReadStream(path), MAX_LINE_BYTES)) {
    number += 1;
    const where = `line ${number}`;
    if (bytes === undefined) {
      yield { kind: "problem", where, reason: `longer than ${MAX_LINE_BYTES} bytes`, size };
      continue;
    }
    const parsed = parseLine(bytes);
    if (parsed === "blank") continue;
    if (typeof parsed === "string") yield { kind: "problem", where, reason: parsed, size };
    else yield { kind: "document", document: parsed, where, size };
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** @returns the document, or what is wrong with the line */
export function parseLine(bytes: Uint8Array): SourceDocument | string {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return "not valid UTF-8";
  }
  if (text.trim() === "") return "blank";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "not valid JSON";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "not a JSON object";
  return readDocument(value as Readonly<Record<string, unknown>>);
}

function readDocument(line: Readonly<Record<string, unknown>>): SourceDocument | string {
  const { title, text, meta } = line;
  const id = line.id ?? line._id;
  if (typeof text !== "string") return "text must be a string";
  if (title !== undefined && title !== null && typeof title !== "string") return "title must be a string";
  if (meta !== undefined && meta !== null && (typeof meta !== "object" || Array.isArray(meta))) {
    return "meta must be an object";
  }
  const known = meta as Readonly<Record<string, unknown>> | undefined | null;
  // A title that stands in meta keeps its place there, so that an export comes back byte for byte.
  const full = typeof title === "string" && title !== "" ? { ...known, title } : known;
  const content = { text, ...(full && { meta: full }) };
  if (id === undefined || id === null) return { id: mintedId(content.text, title), ...content };
  if (typeof id === "number" && Number.isSafeInteger(id)) return { id: String(id), ...content };
  if (typeof id !== "string" || id === "") return "id must be a non-empty string";
  return { id, ...content };
}

/** A line without an id is known by its content, so that sending it twice adds it once (RCP §7.10). */
function mintedId(text: string, title: unknown): string {
  const hash = createHash("sha256").update(JSON.stringify([title ?? null, text]));
  return `sha256-${hash.digest("hex").slice(0, 32)}`;
}
