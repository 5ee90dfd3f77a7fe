import { isIP } from "node:net";
import type { Config } from "../config/config.ts";
import { FetchRefusal } from "./refusal.ts";

export type FetchSettings = Config["fetch"];

const MAX_CHARACTERS = 2048;
/** Before the parser, which drops tabs and line breaks, turns backslashes and maps other scripts to ASCII. */
const NOT_PLAIN = /[^\x21-\x7e]|\\/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** The authority as it was written; the parser also takes one, three or more slashes. */
const AUTHORITY = /^[a-z]+:\/\/([^/?#]+)/i;
const DNS_NAME = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
/** Top-level names that are no public ones. */
const PRIVATE_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|arpa|onion|alt|test|invalid)$/;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "https:": 443, "http:": 80 };

/** Without the brackets that an IPv6 address has in a URL. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** The port that is dialled: a URL leaves out its scheme's own. 0 for a scheme that has none. */
export const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port);

/** `docs.example.org` itself, `*.example.org` for every name below it, `*` for all. */
export function isListed(hostname: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (pattern) =>
      pattern === "*" || pattern === hostname || (pattern.startsWith("*.") && hostname.endsWith(pattern.slice(1))),
  );
}

/**
 * Reads a uri that may be fetched as far as that can be told without asking anybody.
 *
 * An address, or a name that is no public one, is taken only where `allowedHosts` names it: `*` stands for public names.
 *
 * @throws FetchRefusal
 */
export function checkUri(uri: string, settings: FetchSettings): URL {
  const refuse = (stage: FetchRefusal["stage"]): never => {
    throw new FetchRefusal(stage);
  };
  if (uri.length > MAX_CHARACTERS || NOT_PLAIN.test(uri) || !SCHEME.test(uri) || !URL.canParse(uri)) refuse("form");
  const url = new URL(uri);
  if (url.protocol === "file:" && settings.fileRoot !== undefined) {
    return /^file:\/\/\/[^/]/i.test(uri) ? url : refuse("form");
  }
  if (!settings.schemes.some((scheme) => url.protocol === `${scheme}:`)) refuse("scheme");
  const [, authority = refuse("form")] = AUTHORITY.exec(uri) ?? [];
  if (authority.includes("@")) refuse("userinfo");
  if (!settings.ports.includes(portOf(url))) refuse("port");

  const { hostname } = url;
  const named = isListed(
    hostname,
    settings.allowedHosts.filter((pattern) => pattern !== "*"),
  );
  if (isIP(bareHost(url)) !== 0) return named ? url : refuse("ip-literal");
  if (hostname.endsWith(".") || authority.replace(/:\d*$/, "").toLowerCase() !== hostname) refuse("host");
  if (!named && (!DNS_NAME.test(hostname) || PRIVATE_NAME.test(hostname))) refuse("host");
  return named || isListed(hostname, settings.allowedHosts) ? url : refuse("allowlist");
}

/**
 * Where a redirect leads, checked from the start.
 *
 * @throws FetchRefusal "redirect" for whatever is wrong with it
 */
export function checkRedirect(location: string, from: URL, settings: FetchSettings): URL {
  try {
    if (NOT_PLAIN.test(location)) throw new FetchRefusal("form");
    const next = checkUri(SCHEME.test(location) ? location : new URL(location, from).href, settings);
    if (next.protocol === "file:") throw new FetchRefusal("scheme");
    if (from.protocol === "https:" && next.protocol !== "https:") throw new FetchRefusal("scheme");
    return next;
  } catch (cause) {
    throw new FetchRefusal("redirect", { cause });
  }
}
