import { authMode } from "../config/auth-mode.ts";
import type { Config } from "../config/config.ts";
import { parseCorpusPath, parseRequestPath } from "../rpc/request-path.ts";

/** Where clients find out which issuers' tokens are taken (RFC 9728 §3); the path of a resource follows it. */
export const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** What this server says about itself as a protected resource. Each corpus' base is a resource, by its address, and so is each MCP door. */
export interface ResourceMetadata {
  /** @param base path of a corpus as it was asked for, such as `/rcp`. @returns the address of its document */
  urlOf(base: string): string;
  /** @param suffix what stood after the well-known path. @returns a JSON text, undefined where no resource is */
  documentAt(suffix: string): string | undefined;
}

/**
 * Says the same of every corpus name, whether there is such a corpus or not.
 *
 * @returns undefined without `server.publicUrl`, since a Host header is the caller's word, and where nobody needs a token
 */
export function resourceMetadata({
  auth,
  doors,
  server,
}: Pick<Config, "auth" | "doors" | "server">): ResourceMetadata | undefined {
  if (server.publicUrl === undefined || authMode(auth) === "none") return undefined;
  const { origin, pathname } = new URL(server.publicUrl);
  const prefix = pathname.replace(/\/$/, "");
  const common = {
    ...authorizationServers(auth.issuers),
    bearer_methods_supported: ["header"],
    resource_name: "pgrcp",
  };
  // MCP clients ask for every scope that is listed, and there nothing is written.
  const scopesAt = (path: string): readonly string[] | undefined => {
    if (doors.mcp && parseCorpusPath(path)?.rest === "/mcp") return [auth.read.scope];
    return isBase(path) ? [...new Set([auth.read.scope, auth.add.scope, auth.delete.scope])] : undefined;
  };
  return {
    urlOf: (base) => `${origin}${WELL_KNOWN}${prefix}${base}`,
    documentAt(suffix) {
      // Who knows only the host asks without a path and gets the default corpus.
      const path = suffix === "" ? `${prefix}/rcp` : suffix;
      const scopes = path.startsWith(prefix) ? scopesAt(path.slice(prefix.length)) : undefined;
      if (scopes === undefined) return undefined;
      // RFC 9728 §3.3: the resource is the very address that the document's own was made from.
      return JSON.stringify({ resource: `${origin}${path}`, scopes_supported: scopes, ...common });
    },
  };
}

function isBase(path: string): boolean {
  const parsed = parseRequestPath(path);
  return parsed !== undefined && parsed.method === undefined;
}

/** Issuers that are addresses, as RFC 8414 asks; RFC 9728 §3.2: an empty list is left out. */
function authorizationServers(issuers: Config["auth"]["issuers"]): object {
  const addresses = issuers.map(({ issuer }) => issuer).filter((issuer) => /^https?:\/\//.test(issuer));
  return addresses.length === 0 ? {} : { authorization_servers: addresses };
}
