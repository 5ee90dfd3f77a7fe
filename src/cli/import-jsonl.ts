import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Source, SourceDocument, SourceItem } from "./import-source.ts";

/** JSONL with `{id, title, text, meta}` in each line, as `pgrcp documents export` writes it. */

/** A line that no server takes; it is passed over without being kept in memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;

export function openJsonl(path: string, size: number): Source {
  return { path, size, items: () => readItems(path) };
}

async function* readItems(path: string): AsyncIterable<SourceItem> {
  let number = 0;
  for await (const { bytes, size } of readLines(path)) {
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

/** Splits on line feeds alone: U+2028 is allowed inside a JSON string, and other line readers split there. */
async function* readLines(path: string): AsyncIterable<{ readonly bytes: Buffer | undefined; readonly size: number }> {
  let kept: Buffer[] = [];
  let size = 0;
  const take = () => {
    const line = { bytes: size > MAX_LINE_BYTES ? undefined : Buffer.concat(kept), size };
    kept = [];
    size = 0;
    return line;
  };
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, from)) {
      kept.push(piece.subarray(from, at));
      size += at + 1 - from;
      yield take();
      from = at + 1;
    }
    size += piece.length - from;
    if (size <= MAX_LINE_BYTES) kept.push(piece.subarray(from));
    else kept = [];
  }
  if (size > 0) yield take();
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
