import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { checkUri } from "../../src/fetch/check-uri.ts";
import { isDenied } from "../../src/fetch/denied-addresses.ts";
import { createFetcher } from "../../src/fetch/fetch-text.ts";
import { FetchRefusal } from "../../src/fetch/refusal.ts";
import { ORIGIN_CERT, ORIGIN_KEY } from "../support/origin-tls.ts";
import { TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";

/**
 * The whole way of a fetch but for two ends: name servers answer as the entry says, and a connection to whatever address was
 * accepted ends at a loopback server, which speaks TLS and answers as the entry says.
 */

interface Entry {
  readonly id: string;
  readonly tag: string;
  readonly uri: string;
  readonly policy: "public-https" | "allowlist" | "public-https-ip";
  readonly allow?: readonly string[];
  readonly dns?: Readonly<Record<string, readonly string[]>>;
  /** Successive answers. */
  readonly rebind?: readonly (readonly string[])[];
  readonly redirects?: readonly string[];
  readonly response?: {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly gzipExpandsTo?: number;
    readonly dripBytesPerSecond?: number;
    readonly tls?: "self-signed";
  };
  readonly expect: "allow" | "deny";
  readonly stage?: string;
}

const file = new URL("data/ssrf-uris.json", import.meta.url);
const { fixture, entries }: { fixture: { dnsDefault: Entry["dns"] }; entries: readonly Entry[] } = JSON.parse(
  readFileSync(file, "utf8"),
);

/** The fixture's types are images; here a body is text. */
const asText = (type: string | undefined) => (type === "image/png" ? "text/plain" : type);

/** What an entry does to the answer of the page that it names; a page that a redirect leads to is as it should be. */
function respond({ response = {}, redirects = [] }: Entry, request: IncomingMessage, answer: ServerResponse): void {
  const [location] = redirects;
  if (location !== undefined && request.url === "/r") {
    answer.writeHead(302, { location }).end();
    return;
  }
  const { status = 200, headers = {}, body, gzipExpandsTo, dripBytesPerSecond } = response;
  const type = asText(headers["content-type"] ?? "text/plain");
  answer.writeHead(status, { ...headers, ...(status !== 204 && { "content-type": type }) });
  if (gzipExpandsTo !== undefined) answer.end(gzipSync(Buffer.alloc(gzipExpandsTo / 100)));
  else if (dripBytesPerSecond !== undefined) {
    const drip = setInterval(() => answer.write("x"), 1_000 / dripBytesPerSecond / 20);
    answer.on("close", () => clearInterval(drip));
  } else answer.end(status === 204 ? undefined : (body ?? "a text"));
}

/** Node's parser takes this one since its version 22, so it is the name that is refused. */
const OTHER_STAGE: Readonly<Record<string, string>> = { "URI-158": "host" };

let current: Entry;
const seen: IncomingMessage[] = [];
const listener: RequestListener = (request, answer) => {
  seen.push(request);
  respond(current, request, answer);
};
const origin = createServer({ cert: ORIGIN_CERT, key: ORIGIN_KEY }, listener);
const stranger = createServer({ cert: TLS_CERT, key: TLS_KEY }, listener);
const authorities = getCACertificates();

beforeAll(async () => {
  setDefaultCACertificates([...authorities, ORIGIN_CERT]);
  for (const server of [origin, stranger]) {
    server.on("tlsClientError", () => {});
    await once(server.listen(0, "127.0.0.1"), "listening");
  }
});
afterAll(async () => {
  setDefaultCACertificates(authorities);
  for (const server of [origin, stranger]) {
    server.closeAllConnections();
    server.close();
  }
});

async function run(entry: Entry) {
  current = entry;
  seen.length = 0;
  const literal = entry.policy === "public-https-ip" ? [new URL(entry.uri).hostname] : [];
  const named = entry.policy === "allowlist" ? (entry.allow ?? ["docs.example.com"]) : ["*"];
  const config = configSchema.parse({
    fetch: { enabled: true, allowedHosts: [...named, ...literal], maxBytes: 5_000_000, timeoutMs: 2_000 },
  });
  const names: Readonly<Record<string, readonly string[]>> = { ...fixture.dnsDefault, ...entry.dns };
  const rebind = [...(entry.rebind ?? [])];
  const dialled: string[] = [];
  const fetcher = createFetcher(config, {
    resolve: async (name) => rebind.shift() ?? names[name] ?? [],
    dial: async ({ addresses }) => {
      dialled.push(...addresses);
      const server = entry.response?.tls === "self-signed" ? stranger : origin;
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    },
  });
  const outcome = await fetcher.fetch(entry.uri, "text/plain", new AbortController().signal).then(
    () => "allow" as const,
    (error: unknown) => {
      if (!(error instanceof FetchRefusal)) throw error;
      return error.stage;
    },
  );
  return { outcome, dialled, settings: config.fetch };
}

test("the shared uris are 177, none left out", () => {
  expect(entries.length).toBe(177);
});

describe("the shared uris", () => {
  test.each(entries.map((entry) => [entry.id, entry.tag, entry.uri.slice(0, 60), entry] as const))(
    "%s (%s) is fetched or refused at the stage that the table names, and no denied address is dialled: %s",
    async (_id, _tag, _uri, entry) => {
      const { outcome, dialled } = await run(entry);

      expect(dialled.filter(isDenied)).toEqual([]);
      if (entry.expect === "allow") expect(outcome).toBe("allow");
      // A certificate that is not good for the host ends the connection, and a name that changes is told before there is one.
      else if (entry.response?.tls !== undefined) expect(outcome).toBe("connect");
      else if (entry.rebind !== undefined) expect([outcome, dialled]).toEqual(["address", []]);
      else expect(outcome).toBe(OTHER_STAGE[entry.id] ?? entry.stage);
      for (const { headers } of seen)
        expect(Object.keys(headers).sort()).toEqual(["accept", "accept-encoding", "connection", "host", "user-agent"]);
    },
  );

  test("those that are refused by their form are refused before a name is asked for", () => {
    const settings = configSchema.parse({ fetch: { enabled: true, allowedHosts: ["*"] } }).fetch;
    const early = entries.filter(
      ({ policy, stage = "" }) =>
        policy === "public-https" && ["form", "scheme", "userinfo", "port", "host", "ip-literal"].includes(stage),
    );

    expect(early.length).toBe(126);
    for (const { uri } of early) expect(() => checkUri(uri, settings)).toThrow(FetchRefusal);
  });
});
