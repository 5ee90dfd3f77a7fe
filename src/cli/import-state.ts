import { createHash } from "node:crypto";
import { appendFile, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { contentHash, type SourceDocument } from "./import-source.ts";

/**
 * What a server has acknowledged of an input, so that a second run sends only the rest. One file for each input, endpoint and
 * bearer: a first line that says what it belongs to, then one line for each acknowledged document. Lines are only appended, so
 * a run that is killed loses at most its last line.
 */
export interface ImportState {
  readonly path: string;
  /** Documents acknowledged by earlier runs. */
  readonly known: number;
  /** True when this very content was acknowledged under this id. */
  has(document: SourceDocument): boolean;
  acknowledge(documents: readonly SourceDocument[]): Promise<void>;
}

export interface StateKey {
  readonly input: string;
  readonly endpoint: string;
  /** Whose documents these become; see `bearerIdentity`. */
  readonly bearer: string;
}

export async function openState(folder: string, key: StateKey, restart: boolean): Promise<ImportState> {
  const name = createHash("sha256")
    .update(JSON.stringify([key.input, key.endpoint, key.bearer]))
    .digest("hex");
  const path = join(folder, `${name.slice(0, 16)}.ndjson`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (restart) await rm(path, { force: true });
  const acknowledged = await load(path);
  const known = acknowledged.size;
  await begin(
    path,
    known === 0 ? `${JSON.stringify({ version: 1, input: key.input, endpoint: key.endpoint })}\n` : "\n",
  );
  return {
    path,
    known,
    has: (document) => acknowledged.get(document.id) === contentHash(document),
    async acknowledge(documents) {
      const lines = documents.map((document) => {
        const hash = contentHash(document);
        acknowledged.set(document.id, hash);
        return `${JSON.stringify({ id: document.id, hash })}\n`;
      });
      await appendFile(path, lines.join(""));
    },
  };
}

/** Starts on a line of its own: the last one may have been cut by a kill. */
async function begin(path: string, text: string): Promise<void> {
  const file = await open(path, "a", 0o600);
  await file.appendFile(text);
  await file.close();
}

async function load(path: string): Promise<Map<string, string>> {
  const acknowledged = new Map<string, string>();
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  for (const line of text.split("\n")) {
    const entry = parseEntry(line);
    if (entry !== undefined) acknowledged.set(entry.id, entry.hash);
  }
  return acknowledged;
}

/** Undefined for the first line, an empty one and one that was cut. */
function parseEntry(line: string): { readonly id: string; readonly hash: string } | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || !("id" in value) || !("hash" in value)) return undefined;
    return typeof value.id === "string" && typeof value.hash === "string"
      ? { id: value.id, hash: value.hash }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Claims that change from one token to the next of the same bearer. */
const VOLATILE = new Set(["exp", "iat", "nbf", "jti", "auth_time", "nonce", "sid", "at_hash", "uti", "rh", "aio"]);

/**
 * What stays the same from token to token of one bearer. Another tenant's token gives another identity, so that its import
 * does not take over what was acknowledged for the first.
 */
export function bearerIdentity(token: string | undefined): string {
  const payload = token?.split(".")[1];
  if (token === undefined || payload === undefined) return token ?? "";
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null) return token;
    const kept = Object.entries(claims).filter(([name]) => !VOLATILE.has(name));
    return JSON.stringify(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
  } catch {
    return token;
  }
}
