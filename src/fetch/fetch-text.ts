import type { IncomingMessage } from "node:http";
import { isIP, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { TenantId } from "../catalog/corpus.ts";
import { addressRanges } from "../config/address-ranges.ts";
import type { Config } from "../config/config.ts";
import { FairTurns } from "../load/fair-turns.ts";
import { hasNul, isWellFormed, utf8Bytes } from "../protocol/text.ts";
import { parseTextType, type TextType } from "../protocol/text-type.ts";
import { bareHost, checkRedirect, checkUri, isListed, portOf } from "./check-uri.ts";
import { type Dial, dialChecked, secure } from "./connect.ts";
import { isDenied } from "./denied-addresses.ts";
import { readFileBody } from "./file-body.ts";
import { htmlTextApart } from "./html-text-apart.ts";
import { httpGet, readBody } from "./http-get.ts";
import { FetchRefusal } from "./refusal.ts";
import { acceptedAddresses, dnsResolver, type Resolve } from "./resolve-host.ts";

export interface FetchedText {
  readonly text: string;
  /** Of an HTML page. */
  readonly title: string | undefined;
  /** Its last host is in `trustedHosts`, and a certificate says that it was that host. */
  readonly isTrusted: boolean;
  /** Others may be told the uri: a file's says where this server keeps its files. */
  readonly isCitable: boolean;
}

export interface Fetcher {
  readonly concurrencyPerCall: number;
  /**
   * Asks nobody.
   *
   * @throws FetchRefusal for a uri that `fetch` would not look at
   */
  check(uri: string): void;
  /**
   * The text of what a uri names.
   *
   * @param party tenants that wait take turns
   * @throws FetchRefusal; the signal's reason when it aborts
   */
  fetch(uri: string, type: TextType, signal: AbortSignal, party?: TenantId): Promise<FetchedText>;
}

/** How the world outside is reached; tests have their own. */
export interface Outside {
  readonly resolve: Resolve;
  readonly dial: Dial;
}

const MAX_TITLE_CHARACTERS = 300;
/** Pages that are read at the same time: each may take some 300 MB. */
const MAX_PAGES = 2;
const REDIRECTS: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308]);

/** One fetch, as far as it has come. */
interface Journey {
  readonly type: TextType;
  readonly party: TenantId | undefined;
  readonly signal: AbortSignal;
  /** An address was dialled that only `allowPrivate` allows. */
  wentPrivate: boolean;
}

/**
 * Fetches bodies by the settings' rules, `concurrency` of them at a time, for which tenants take turns. A uri that led to an address of the operator's own network
 * is refused after `timeoutMs` and no sooner, whatever was the matter with it.
 */
export function createFetcher(
  { fetch: settings, limits, load }: Pick<Config, "fetch" | "limits" | "load">,
  { resolve, dial }: Outside = { resolve: dnsResolver(), dial: dialChecked },
): Fetcher {
  const turns = (places: number) => new FairTurns({ places, placesPerParty: Math.ceil(places * load.tenantShare) });
  const fetches = turns(settings.concurrency);
  const pages = turns(MAX_PAGES);
  const isAllowedPrivate = addressRanges(settings.allowPrivate);
  const isAccepted = (address: string) => !isDenied(address) || isAllowedPrivate(address);

  return {
    concurrencyPerCall: settings.concurrencyPerCall,
    check: (uri) => void checkUri(uri, settings),
    async fetch(uri, type, signal, party) {
      const start = checkUri(uri, settings);
      return await fetches.run(() => inTime(start, type, signal, party), signal, party);
    },
  };

  async function inTime(
    start: URL,
    type: TextType,
    signal: AbortSignal,
    party: TenantId | undefined,
  ): Promise<FetchedText> {
    const endsAt = performance.now() + settings.timeoutMs;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), settings.timeoutMs);
    const journey = { type, party, signal: AbortSignal.any([signal, limit.signal]), wentPrivate: false };
    try {
      return await fetchOnce(start, journey);
    } catch (error) {
      // Refused, filtered or not what was asked for: how soon, or how soon its place is free, would tell what listens on an address
      // of the operator's own network.
      if (journey.wentPrivate)
        await sleep(Math.max(0, endsAt - performance.now()), undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async function fetchOnce(start: URL, journey: Journey): Promise<FetchedText> {
    const { url, bytes } =
      start.protocol === "file:" && settings.fileRoot !== undefined
        ? { url: start, bytes: await readFileBody(start, settings.fileRoot, settings.maxBytes, journey.signal) }
        : await follow(start, journey);
    const body = decode(bytes, journey.type);
    const { title, text } =
      journey.type === "text/html"
        ? await pages.run(() => htmlTextApart(body, journey.signal), journey.signal, journey.party)
        : { title: undefined, text: body };
    if (!isStorable(text) || !isStorable(title ?? "") || utf8Bytes(text) > limits.maxTextBytes || text.trim() === "")
      throw new FetchRefusal("response");
    return {
      text,
      title: title?.slice(0, MAX_TITLE_CHARACTERS).toWellFormed(),
      isTrusted: url.protocol === "https:" && isListed(url.hostname, settings.trustedHosts),
      isCitable: url.protocol !== "file:",
    };
  }

  async function follow(start: URL, journey: Journey): Promise<{ url: URL; bytes: Uint8Array }> {
    let url = start;
    for (let redirects = 0; redirects <= settings.maxRedirects; redirects++) {
      const socket = await dialTo(url, journey);
      try {
        const response = await ask(url, socket, journey);
        const { location } = response.headers;
        if (REDIRECTS.has(response.statusCode) && location !== undefined) {
          url = checkRedirect(location, url, settings);
          continue;
        }
        if (response.statusCode !== 200 || !answers(response, journey.type)) throw new FetchRefusal("response");
        return { url, bytes: await readBody(response, settings.maxBytes) };
      } finally {
        socket.destroy();
      }
    }
    throw new FetchRefusal("redirect");
  }

  async function dialTo(url: URL, journey: Journey): Promise<Socket> {
    const host = bareHost(url);
    // An address is its own answer.
    const answer: Resolve = isIP(host) === 0 ? resolve : async () => [host];
    const addresses = await acceptedAddresses(host, answer, isAccepted, journey.signal);
    journey.wentPrivate ||= addresses.some(isDenied);
    return await dial({ host, port: portOf(url), addresses }, isAccepted, journey.signal);
  }

  async function ask(url: URL, socket: Socket, { type, signal }: Journey): Promise<IncomingMessage> {
    const connection = url.protocol === "https:" ? await secure(socket, bareHost(url), signal) : socket;
    return await httpGet(url, connection, accepted(type).join(", "), signal);
  }
}

/** Markdown is often served as plain text, and either is kept as it is. */
const accepted = (type: TextType): readonly TextType[] =>
  type === "text/html" ? [type] : type === "text/plain" ? [type, "text/markdown"] : [type, "text/plain"];

function answers({ headers }: IncomingMessage, type: TextType): boolean {
  const answered = parseTextType(headers["content-type"] ?? "");
  return answered !== undefined && accepted(type).includes(answered);
}

/** How documents of other kinds begin. */
const OTHER_KIND = /^\s*(?:<\?xml|<!doctype|<html|<svg|%PDF-|\{\\rtf)/i;

/** @throws FetchRefusal for bytes that are no UTF-8 text of the type */
function decode(bytes: Uint8Array, type: TextType): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new FetchRefusal("response", { cause });
  }
  if (type !== "text/html" && OTHER_KIND.test(text)) throw new FetchRefusal("response");
  return text;
}

const isStorable = (text: string): boolean => isWellFormed(text) && !hasNul(text);
