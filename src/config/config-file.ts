import { readFile } from "node:fs/promises";
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from "yaml";

/** A YAML file as read: its value, and where each key stands. */
export interface ConfigFile {
  readonly value: unknown;
  /** What stops it from being read as YAML; each names the line. */
  readonly problems: readonly string[];
  /** The line, from 1, of the deepest part of the path that the file has. */
  lineOf(path: readonly (string | number)[]): number | undefined;
}

const absent: ConfigFile = { value: undefined, problems: [], lineOf: () => undefined };

/** Reads and parses a file; what is wrong with it is told in `problems` and its value is then undefined. */
export async function readConfigFile(file: string | undefined): Promise<ConfigFile> {
  if (file === undefined) return absent;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    return { ...absent, problems: [`${file}: ${unreadable(error)}`] };
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    const problems = faults.map(({ code, pos }) => `${file} line ${lines.linePos(pos[0]).line}: ${yamlFault(code)}`);
    return { ...absent, problems };
  }
  try {
    return { value: document.toJS(), problems: [], lineOf: (path) => lineOf(document, lines, path) };
  } catch {
    return { ...absent, problems: [`${file}: aliases that cannot be resolved; write the values out`] };
  }
}

function lineOf(document: Document.Parsed, lines: LineCounter, path: readonly (string | number)[]): number | undefined {
  let node: ParsedNode | null = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    if (isAlias(node)) node = (node.resolve(document) as ParsedNode | undefined) ?? null;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      offset = pair.key.range[0];
      node = pair.value;
    } else if (isSeq(node) && typeof part === "number" && node.items[part] !== undefined) {
      node = node.items[part];
      offset = node.range[0];
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

function unreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "no such file; name one that exists, or leave it out to run on defaults";
  if (code === "EACCES") return "this user may not read it";
  if (code === "EISDIR") return "is a directory; name a YAML file";
  return "cannot be read";
}

/** The parser's own messages quote the file, where a secret may stand; these do not. */
function yamlFault(code: string): string {
  if (code === "DUPLICATE_KEY") return "the same key twice; keep one";
  if (code === "TAB_AS_INDENT") return "indented with a tab; use spaces";
  if (code === "BAD_INDENT") return "wrong indentation; keys of one section start in one column";
  if (code === "MULTIPLE_DOCS") return "a second document; keep one, without ---";
  return `not valid YAML (${code})`;
}
