import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { NewDocument } from "../client/index.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

/** What `import` reads, whatever it came from. */

export interface SourceDocument extends NewDocument {
  readonly id: string;
}

export type SourceItem =
  | { readonly kind: "document"; readonly document: SourceDocument; readonly where: string; readonly size: number }
  /** Something that is not a document, and why; it is listed and left out. */
  | { readonly kind: "problem"; readonly where: string; readonly reason: string; readonly size: number };

export interface Source {
  readonly path: string;
  /** The sum of the items' sizes: bytes of a JSONL file, files of a folder. */
  readonly size: number;
  items(): AsyncIterable<SourceItem>;
}

/** @throws CommandFailure when there is nothing to read at the path */
export async function openSource(path: string): Promise<Source> {
  const full = resolve(path);
  const found = await stat(full).catch(() => undefined);
  const { openFile, openFolder } = await import("./import-folder.ts");
  if (found?.isDirectory()) return openFolder(full);
  if (found?.isFile()) return openFile(full) ?? (await import("./import-jsonl.ts")).openJsonl(full, found.size);
  const remedy =
    "name a Markdown, text or HTML file, a folder of those, or a JSONL file with {id, title, text, meta} in each line";
  throw new CommandFailure(ExitCode.usage, `${path} is neither a folder nor a file`, remedy);
}

/**
 * A fingerprint of what is sent: a document with the same one needs no second sending. Keys keep their order, so a reordered
 * meta counts as changed.
 */
export function contentHash({ text, meta }: NewDocument): string {
  return createHash("sha256")
    .update(JSON.stringify([text, meta ?? null]))
    .digest("base64url")
    .slice(0, 22);
}
