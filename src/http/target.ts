import type { CorpusName } from "../catalog/corpus.ts";
import { parseCorpusPath, parseRequestPath, type RequestPath } from "../rpc/request-path.ts";
import { WELL_KNOWN } from "./resource-metadata.ts";

/** What a request target leads to. */
export type Target =
  | { readonly kind: "rcp"; readonly path: RequestPath; readonly base: string }
  /** Of the REST Connector Protocol. `base` stands before `/manifest`: nothing, or the corpus. */
  | { readonly kind: "manifest"; readonly corpus: CorpusName; readonly base: string }
  | { readonly kind: "tool"; readonly corpus: CorpusName; readonly name: string; readonly query: string }
  /** The corpus that the path names, if it names one; `base` is the whole path. */
  | { readonly kind: "mcp"; readonly corpus: CorpusName | undefined; readonly base: string }
  /** The path of a resource, or nothing. */
  | { readonly kind: "metadata"; readonly suffix: string }
  | { readonly kind: "healthz" | "readyz" | "malformed" | "unknown" };

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/**
 * Reads a request target as it was sent, undecoded: the method in it is compared with the body's byte for byte, so no
 * second spelling of a path can slip past a proxy's rule (RCP §5.2). A query string is looked at by tools alone, which take none.
 *
 * @param target origin form, or absolute form, whose authority is ignored
 */
export function readTarget(target: string): Target {
  const [path = "", ...query] = target.replace(ORIGIN, "").split("?");
  if (!isDecodable(path)) return { kind: "malformed" };
  if (path === "/healthz") return { kind: "healthz" };
  if (path === "/readyz") return { kind: "readyz" };
  if (path === WELL_KNOWN || path.startsWith(`${WELL_KNOWN}/`)) {
    return { kind: "metadata", suffix: path.slice(WELL_KNOWN.length) };
  }
  const requestPath = parseRequestPath(path);
  if (requestPath === undefined) return readDoorTarget(path, query.join("?"));
  const { method } = requestPath;
  const base = method === undefined ? path : path.slice(0, -`/${method}`.length);
  return { kind: "rcp", path: requestPath, base };
}

const TOOLS = "/v1/";

function readDoorTarget(path: string, query: string): Target {
  const { corpus, rest = "" } = parseCorpusPath(path) ?? {};
  if (corpus === undefined) return { kind: "unknown" };
  if (rest === "/mcp") return { kind: "mcp", corpus: path === rest ? undefined : corpus, base: path };
  if (rest === "/manifest") return { kind: "manifest", corpus, base: path.slice(0, -rest.length) };
  return rest.startsWith(TOOLS) ? { kind: "tool", corpus, name: rest.slice(TOOLS.length), query } : { kind: "unknown" };
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
