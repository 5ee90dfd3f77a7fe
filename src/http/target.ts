import { parseRequestPath, type RequestPath } from "../rpc/request-path.ts";

/** What a request target leads to. */
export type Target =
  | { readonly kind: "rcp"; readonly path: RequestPath }
  | { readonly kind: "healthz" | "readyz" | "malformed" | "unknown" };

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/**
 * Reads a request target as it was sent, undecoded: the method in it is compared with the body's byte for byte, so no
 * second spelling of a path can slip past a proxy's rule (RCP §5.2). A query string is never looked at.
 *
 * @param target origin form, or absolute form, whose authority is ignored
 */
export function readTarget(target: string): Target {
  const [path = ""] = target.replace(ORIGIN, "").split("?", 1);
  if (!isDecodable(path)) return { kind: "malformed" };
  if (path === "/healthz") return { kind: "healthz" };
  if (path === "/readyz") return { kind: "readyz" };
  const requestPath = parseRequestPath(path);
  return requestPath === undefined ? { kind: "unknown" } : { kind: "rcp", path: requestPath };
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
