import { readdir, readFile } from "node:fs/promises";
import { basename, extname, join, relative, sep } from "node:path";
import { compareUtf8 } from "../protocol/text.ts";
import { readMarkdown } from "./import-markdown.ts";
import type { Source, SourceDocument, SourceItem } from "./import-source.ts";

/** Markdown, text and HTML files. A document's id is its path below the folder that was named, with `/` between the parts. */

type FileKind = "markdown" | "text" | "html";

const KINDS: Readonly<Record<string, FileKind>> = {
  ".md": "markdown",
  ".markdown": "markdown",
  ".txt": "text",
  ".text": "text",
  ".html": "html",
  ".htm": "html",
  ".xhtml": "html",
};

interface File {
  readonly id: string;
  readonly file: string;
  readonly kind: FileKind;
}

const kindOf = (name: string): FileKind | undefined => KINDS[extname(name).toLowerCase()];

/** A single file, whose id is its name; undefined where it is none of these kinds. */
export function openFile(path: string): Source | undefined {
  const kind = kindOf(path);
  return kind && sourceOf(path, [{ id: basename(path), file: path, kind }]);
}

export async function openFolder(path: string): Promise<Source> {
  const files: File[] = [];
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const id = relative(path, file).split(sep).join("/");
    const kind = kindOf(entry.name);
    if (entry.isFile() && kind !== undefined && !isHidden(id)) files.push({ id, file, kind });
  }
  return sourceOf(
    path,
    files.sort((a, b) => compareUtf8(a.id, b.id)),
  );
}

function sourceOf(path: string, files: readonly File[]): Source {
  return {
    path,
    size: files.length,
    async *items() {
      for (const { id, file, kind } of files) yield toItem(id, await readFile(file).catch(() => undefined), kind);
    },
  };
}

/** Dot files and the folders of tools: nobody means those when naming a folder of documents. */
const isHidden = (id: string) => id.split("/").some((part) => part.startsWith(".") || part === "node_modules");

async function toItem(id: string, bytes: Uint8Array | undefined, kind: FileKind): Promise<SourceItem> {
  const parsed = bytes === undefined ? "cannot be read" : await readDocument(id, bytes, kind);
  return typeof parsed === "string"
    ? { kind: "problem", where: id, reason: parsed, size: 1 }
    : { kind: "document", document: parsed, where: id, size: 1 };
}

async function readDocument(id: string, bytes: Uint8Array, kind: FileKind): Promise<SourceDocument | string> {
  const { title, text, meta } = await readContent(bytes, kind);
  if (text === undefined) return "not valid UTF-8";
  if (text.trim() === "") return "holds no text";
  const full = { ...meta, ...(title !== undefined && { title }) };
  return { id, text, ...(Object.keys(full).length > 0 && { meta: full }) };
}

interface Content {
  readonly title?: string | undefined;
  readonly text: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

async function readContent(bytes: Uint8Array, kind: FileKind): Promise<Content> {
  if (kind === "html") return (await import("./import-html.ts")).readHtml(bytes);
  const text = decodeUtf8(bytes);
  return kind === "markdown" && text !== undefined ? readMarkdown(text) : { text };
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
