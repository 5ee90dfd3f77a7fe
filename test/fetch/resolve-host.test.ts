import { afterEach, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { type Destination, dialChecked } from "../../src/fetch/connect.ts";
import { isDenied } from "../../src/fetch/denied-addresses.ts";
import { createFetcher } from "../../src/fetch/fetch-text.ts";
import { acceptedAddresses, dnsResolver } from "../../src/fetch/resolve-host.ts";
import { type DnsAnswer, type DnsServer, type Question, startDnsServer } from "../support/dns-server.ts";
import { startRawOrigin } from "../support/raw-origin.ts";

/** After two tries of two seconds at the earliest the resolver gives up by itself. */
const RESOLVER_MS = 4_000;

/** Names as a real name server answers for them. */

const never = new AbortController().signal;
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function serve(answerTo: (question: Question, nth: number) => DnsAnswer): Promise<DnsServer> {
  let nth = 0;
  const server = await startDnsServer((question) => {
    if (question.type === "A") nth += 1;
    return answerTo(question, nth);
  });
  open.push(server);
  return server;
}

const of = (addresses: readonly string[]): DnsAnswer => addresses.map((address) => ({ address }));
/** The same answer each time it is asked for. */
const always =
  (v4: DnsAnswer, v6: DnsAnswer = []) =>
  ({ type }: Question) =>
    type === "A" ? v4 : v6;
const publicOf = async ({ server }: DnsServer, signal = never) =>
  await acceptedAddresses("docs.example.com", dnsResolver([server]), (address) => !isDenied(address), signal);

describe("a name", () => {
  test("has the addresses of both families, and is asked for twice", async () => {
    const server = await serve(always(of(["93.184.215.14", "1.1.1.1"]), of(["2606:2800:21f::1"])));

    expect(await publicOf(server)).toEqual(["93.184.215.14", "1.1.1.1", "2606:2800:21f::1"]);
    expect(server.questions.map(({ name, type }) => `${type} ${name}`).sort()).toEqual([
      ...Array(2).fill("A docs.example.com"),
      ...Array(2).fill("AAAA docs.example.com"),
    ]);
  });

  test("of IPv6 alone has those addresses", async () => {
    expect(await publicOf(await serve(always([], of(["2606:2800:21f::1"]))))).toEqual(["2606:2800:21f::1"]);
  });

  test("that is an alias has the addresses of what it stands for", async () => {
    const answer = [{ alias: "edge.example.net" }, { owner: "edge.example.net", address: "93.184.215.14" }];

    expect(await publicOf(await serve(always(answer)))).toEqual(["93.184.215.14"]);
  });

  const alias = (address: string) => [{ alias: "db.example.net" }, { owner: "db.example.net", address }];
  test.each<readonly [string, DnsAnswer, DnsAnswer, string]>([
    ["a private address among public ones", of(["93.184.215.14", "10.0.0.1"]), [], "address"],
    ["a public address of one family and a private one of the other", of(["1.1.1.1"]), of(["fd00::1"]), "address"],
    ["an IPv6 address that is an IPv4 one in disguise", [], of(["64:ff9b::a9fe:a9fe"]), "address"],
    ["an alias of what is private", alias("169.254.169.254"), [], "address"],
    ["no address", [], [], "dns"],
    ["no such name", "NXDOMAIN", "NXDOMAIN", "dns"],
    ["a server that fails for one family", of(["93.184.215.14"]), "SERVFAIL", "dns"],
    ["a server that refuses to answer", "REFUSED", "REFUSED", "dns"],
  ])("is refused as a whole: %s", async (_what, v4, v6, stage) => {
    await expect(publicOf(await serve(always(v4, v6)))).rejects.toMatchObject({ name: "FetchRefusal", stage });
  });

  test("is refused when it is public the first time and private the second", async () => {
    const server = await serve(({ type }, nth) => (type === "AAAA" ? [] : of([nth === 1 ? "1.1.1.1" : "127.0.0.1"])));

    await expect(publicOf(server)).rejects.toMatchObject({ stage: "address" });
  });

  test("nobody answers for is given up as soon as its fetch is", async () => {
    const limit = new AbortController();
    const silent = publicOf(await serve(() => "silence"), limit.signal);
    const begun = performance.now();
    setTimeout(() => limit.abort(), 100);

    await expect(silent).rejects.toMatchObject({ stage: "dns" });
    expect(performance.now() - begun).toBeLessThan(RESOLVER_MS);
  });

  test("is not asked for by a fetch that was given up already", async () => {
    const server = await serve(always(of(["1.1.1.1"])));

    await expect(publicOf(server, AbortSignal.abort())).rejects.toMatchObject({ stage: "dns" });
    expect(server.questions).toEqual([]);
  });
});

describe("a whole fetch", () => {
  /** Only 127.0.0.1 may be dialled, and there is the page. */
  async function fetchFrom(answerTo: (question: Question, nth: number) => DnsAnswer, timeoutMs: number) {
    const body = "a text";
    const page = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const origin = await startRawOrigin({ "/": page });
    open.push(origin);
    const dns = await serve(answerTo);
    const dialled: Destination[] = [];
    const fetch = { schemes: ["http"], ports: [origin.port], allowedHosts: ["*"], allowPrivate: ["127.0.0.1/32"] };
    const fetcher = createFetcher(configSchema.parse({ fetch: { ...fetch, timeoutMs } }), {
      resolve: dnsResolver([dns.server]),
      dial: (to, ...rest) => {
        dialled.push(to);
        return dialChecked(to, ...rest);
      },
    });
    const uri = `http://docs.example.com:${origin.port}/`;
    const outcome = await fetcher.fetch(uri, "text/plain", never).then(
      ({ text }) => text,
      ({ stage }) => stage,
    );
    return { outcome, dialled: dialled.flatMap(({ addresses }) => addresses), asked: dns.questions.length };
  }

  test("dials what was checked: a name that changes between the check and the connection is not asked again", async () => {
    const changing = ({ type }: Question, nth: number) =>
      type === "AAAA" ? [] : of([nth <= 2 ? "127.0.0.1" : "10.0.0.1"]);

    expect(await fetchFrom(changing, 20_000)).toEqual({ outcome: "a text", dialled: ["127.0.0.1"], asked: 4 });
  });

  test("of a name with an address that may be dialled and one that may not dials neither", async () => {
    expect(await fetchFrom(always(of(["127.0.0.1", "127.0.0.2"])), 20_000)).toMatchObject({
      outcome: "address",
      dialled: [],
    });
  });

  test("ends in its time while name servers are silent", async () => {
    const begun = performance.now();

    expect(await fetchFrom(() => "silence", 500)).toMatchObject({ outcome: "dns", dialled: [] });
    expect(performance.now() - begun).toBeLessThan(RESOLVER_MS);
  });
});
