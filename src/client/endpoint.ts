/** Where calls go, and whether a token may travel there. */

const DEFAULT_PATH = /\/rcp$/;

/**
 * The base URL of a corpus: `…/rcp` serves `default`, `…/corpora/<name>/rcp` any other.
 *
 * @param url the server's base URL, ending in `/rcp`
 * @throws TypeError when the URL is not an http(s) URL that ends in `/rcp`, or holds a query, a fragment or credentials
 */
export function corpusEndpoint(url: string, corpus = "default"): URL {
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol))
    throw new TypeError("the URL must begin with http:// or https://");
  if (base.username !== "" || base.password !== "" || base.search !== "" || base.hash !== "") {
    throw new TypeError("the URL must hold no credentials, query or fragment");
  }
  base.pathname = base.pathname.replace(/\/+$/, "");
  if (!DEFAULT_PATH.test(base.pathname)) throw new TypeError("the URL must end in /rcp");
  if (corpus !== "default") {
    base.pathname = base.pathname.replace(DEFAULT_PATH, `/corpora/${encodeURIComponent(corpus)}/rcp`);
  }
  return base;
}

/** The URL of one method, RCP §5.2: `<base>/<method>`. */
export const methodUrl = (base: URL, method: string): string => `${base.href}/${method}`;

/** True where nobody on a network can read along: https, or this very machine. */
export function isPrivateChannel(base: URL): boolean {
  if (base.protocol === "https:") return true;
  const host = base.hostname;
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
