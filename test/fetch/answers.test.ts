import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fetcher } from "../../src/fetch/fetch-text.ts";
import type { TextType } from "../../src/protocol/text-type.ts";
import { fetcherTo, type RawOrigin, startRawOrigin, type Writer } from "../support/raw-origin.ts";

/** Of the length that it has, unless `more` says how long it is. */
function ok(body: string, type = "text/plain", more = ""): string {
  const length = /content-length|transfer-encoding/i.test(more) ? "" : `Content-Length: ${body.length}\r\n`;
  return `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${length}${more}\r\n${body}`;
}

const redirect = (location: string, status = "302 Found") => `HTTP/1.1 ${status}\r\nLocation: ${location}\r\n\r\n`;

const GOOD = {
  "/plain": ok("a text"),
  "/chunked": ok("2\r\na \r\n4\r\ntext\r\n0\r\n\r\n", "text/plain", "Transfer-Encoding: chunked\r\n"),
  "/identity": ok("a text", "text/plain", "Content-Encoding: identity\r\n"),
  "/charset": ok("a text", 'TEXT/Plain; charset="UTF-8"'),
  "/ascii": ok("a text", "text/plain; charset=us-ascii"),
  "/markdown": ok("a text", "text/markdown"),
  "/bom": ok("\xef\xbb\xbfa text"),
  "/early-hints": `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${ok("a text")}`,
  "/relative": redirect("plain"),
  "/absolute": redirect("http://other.example.org/plain", "308 Permanent Redirect"),
  "/network-path": redirect("//other.example.org/plain", "307 Temporary Redirect"),
  "/three": redirect("/two"),
  "/two": redirect("/relative"),
} as const;

const BAD: Readonly<Record<string, string | Writer>> = {
  "nothing at all": "",
  "an answer without a head (HTTP/0.9)": "a text",
  "another protocol": "220 mail.example.org ESMTP\r\n",
  "a redis error": "-ERR unknown command 'GET'\r\n",
  "headers of 17 kB": ok("a text", "text/plain", `X: ${"x".repeat(17_000)}\r\n`),
  "headers without end": (write) => {
    write("HTTP/1.1 200 OK\r\n");
    const more = setInterval(() => write(`X: ${"x".repeat(1_000)}\r\n`), 1);
    setTimeout(() => clearInterval(more), 1_500);
  },
  "a head that never ends": (write) => write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
  "a body of no known length": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\na text",
  "a body that trickles": (write) => {
    write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 900\r\n\r\n");
    const more = setInterval(() => write("x"), 20);
    setTimeout(() => clearInterval(more), 1_500);
  },
  "a connection that is reset within a body": (write, reset) => {
    write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na te\r\n");
    setTimeout(reset, 50);
  },
  "a body that breaks off": ok("a te", "text/plain", "Content-Length: 6\r\n"),
  "two lengths": ok("a text", "text/plain", "Content-Length: 6\r\nContent-Length: 5\r\n"),
  "a length and chunks": ok("1\r\na\r\n0\r\n\r\n", "text/plain", "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
  "a chunk of a bad size": ok("zz\r\na\r\n0\r\n\r\n", "text/plain", "Transfer-Encoding: chunked\r\n"),
  "a body over the limit": ok("x".repeat(1_001)),
  "a declared length over the limit": ok("a text", "text/plain", "Content-Length: 1001\r\n"),
  "chunks over the limit": ok(
    `${`${"c8\r\n".padEnd(204, "x")}\r\n`.repeat(6)}0\r\n\r\n`,
    "text/plain",
    "Transfer-Encoding: chunked\r\n",
  ),
  gzip: ok("\x1f\x8b", "text/plain", "Content-Encoding: gzip\r\n"),
  "brotli in other letters": ok("a text", "text/plain", "content-encoding: BR\r\n"),
  "two encodings": ok("a text", "text/plain", "Content-Encoding: identity, gzip\r\n"),
  "no type": "HTTP/1.1 200 OK\r\n\r\na text",
  "another type": ok("a text", "text/html"),
  "an image": ok("a text", "image/svg+xml"),
  json: ok("{}", "application/json"),
  "a broken type": ok("a text", "text"),
  "another charset": ok("caf\xe9", "text/plain; charset=iso-8859-1"),
  "bytes that are no UTF-8": ok("caf\xe9"),
  "a surrogate in UTF-8": ok("\xed\xa0\x80"),
  "UTF-16": ok("a\0 \0t\0"),
  "a PNG": ok("\x89PNG\r\n\x1a\n"),
  XML: ok('<?xml version="1.0"?><svg/>'),
  "HTML that is called plain": ok("\n <!DOCTYPE html><p>x</p>"),
  PDF: ok("%PDF-1.7"),
  "nothing but white space": ok(" \n"),
  "204": "HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\n\r\n",
  "206": ok("a text").replace("200 OK", "206 Partial Content"),
  "203": ok("a text").replace("200 OK", "203 Non-Authoritative Information"),
  "304": "HTTP/1.1 304 Not Modified\r\n\r\n",
  "300": redirect("/plain", "300 Multiple Choices"),
  "305": redirect("/plain", "305 Use Proxy"),
  "401": ok("a text").replace("200 OK", "401 Unauthorized"),
  "407": ok("a text").replace("200 OK", "407 Proxy Authentication Required"),
  "500": ok("a text").replace("200 OK", "500 Internal Server Error"),
  "101": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  "a redirect that leads nowhere": "HTTP/1.1 302 Found\r\nContent-Type: text/plain\r\n\r\na text",
};

const REDIRECTS_TO = [
  "file:///etc/passwd",
  "FILE:///etc/passwd",
  "data:text/plain,a",
  "gopher://docs.example.com/",
  "ftp://docs.example.com/",
  "javascript:alert(1)",
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://[::1]/",
  "//169.254.169.254/latest/",
  "http://localhost/",
  "http://docs.example.com@10.0.0.1/",
  "http://user@docs.example.com/",
  "http://docs.example.com:8080/",
  "//docs.example.com:22/",
  "http://metadata.google.internal/",
  "\\\\docs.example.com\\x",
  "/\\docs.example.com/",
  "/caf\xe9",
  "/a b",
  "http://",
  `/${"x".repeat(2_048)}`,
];

let origin: RawOrigin;
let fetcher: Fetcher;
/** Reading a page starts a thread, which takes its time on a busy machine. */
let patient: Fetcher;
const get = (path: string, type: TextType = "text/plain", from: Fetcher = fetcher) =>
  from.fetch(`http://docs.example.com${path}`, type, new AbortController().signal);

beforeAll(async () => {
  const bad = Object.values(BAD).map((answer, index) => [`/bad-${index}`, answer]);
  const redirects = REDIRECTS_TO.map((location, index) => [`/redirect-${index}`, redirect(location)]);
  origin = await startRawOrigin({
    ...GOOD,
    ...Object.fromEntries([...bad, ...redirects]),
    "/loop": redirect("/loop"),
    "/loop-too": redirect(""),
    "/four": redirect("/three"),
    "/html": ok("<title>A page</title><script>x</script><p>a text</p>", "text/html; charset=utf-8"),
    "/html-latin": ok('<meta charset="iso-8859-1"><p>caf\xe9</p>', "text/html"),
    "/html-empty": ok("<script>x</script>", "text/html"),
    "/html-wide": ok("<table><tr><td colspan=100000000>x</td></tr></table>", "text/html"),
  });
  fetcher = fetcherTo(origin, { maxBytes: 1_000, timeoutMs: 1_000 });
  patient = fetcherTo(origin);
});
afterAll(() => origin.close());

describe("what is taken", () => {
  test.each(Object.keys(GOOD))("%s", async (path) => {
    expect(await get(path, "text/plain", patient)).toEqual({
      text: "a text",
      title: undefined,
      isTrusted: false,
      isCitable: true,
    });
  });

  test("markdown may come as plain text", async () => {
    expect((await get("/plain", "text/markdown", patient)).text).toBe("a text");
  });

  test("of a page its text and title", async () => {
    expect(await get("/html", "text/html", patient)).toMatchObject({ text: "a text", title: "A page" });
  });
});

describe("what is refused", () => {
  test.each(Object.keys(BAD).map((name, index) => [name, index] as const))("%s", async (_name, index) => {
    await expect(get(`/bad-${index}`)).rejects.toMatchObject({ name: "FetchRefusal", stage: "response" });
  });

  test.each(REDIRECTS_TO.map((to, index) => [to.slice(0, 40), index] as const))(
    "a redirect to %j",
    async (_to, index) => {
      const before = origin.requests.length;

      await expect(get(`/redirect-${index}`)).rejects.toMatchObject({ name: "FetchRefusal" });
      expect(origin.requests.length).toBe(before + 1);
    },
  );

  test("the fourth redirect, and a loop", async () => {
    await expect(get("/four", "text/plain", patient)).rejects.toMatchObject({ stage: "redirect" });
    await expect(get("/loop", "text/plain", patient)).rejects.toMatchObject({ stage: "redirect" });
    await expect(get("/loop-too")).rejects.toMatchObject({ name: "FetchRefusal" });
  });

  test("a redirect to a file, where files may be had", async () => {
    const withFiles = fetcherTo(origin, { fileRoot: "/etc" });

    await expect(get("/redirect-0", "text/plain", withFiles)).rejects.toMatchObject({ stage: "redirect" });
  });

  test("a page that is no UTF-8 whatever it says, one without text, and one whose text would never end", async () => {
    await expect(get("/html-latin", "text/html", patient)).rejects.toMatchObject({ stage: "response" });
    await expect(get("/html-empty", "text/html", patient)).rejects.toMatchObject({ stage: "response" });
    await expect(get("/html-wide", "text/html", patient)).rejects.toMatchObject({ stage: "response" });
  });

  test("a text over limits.maxTextBytes", async () => {
    const small = fetcherTo(origin, {}, { maxTextBytes: 5 });

    await expect(get("/plain", "text/plain", small)).rejects.toMatchObject({ stage: "response" });
  });
});

test("one answer for whatever happened once the uri has been read", async () => {
  const messages = await Promise.all(
    ["/bad-0", "/bad-22", "/missing", "/loop", "/redirect-6", "/four"].map((path) =>
      get(path).catch((error: Error) => error.message),
    ),
  );

  expect(new Set(messages).size).toBe(1);
});

test("a request is these bytes and no others", async () => {
  origin.requests.length = 0;
  await get("/plain?q=1#part", "text/plain", patient);

  expect(origin.requests).toEqual([
    "GET /plain?q=1 HTTP/1.1\r\nhost: docs.example.com\r\naccept: text/plain, text/markdown\r\n" +
      "accept-encoding: identity\r\nuser-agent: pgrcp\r\nconnection: close\r\n\r\n",
  ]);
});

test("an abort ends a fetch at once, with its own reason", async () => {
  const abort = new AbortController();
  const slow = `/bad-${Object.keys(BAD).indexOf("a head that never ends")}`;
  const begun = performance.now();
  const fetching = fetcherTo(origin, { timeoutMs: 20_000 }).fetch(
    `http://docs.example.com${slow}`,
    "text/plain",
    abort.signal,
  );
  setTimeout(() => abort.abort(new Error("cancelled")), 50);

  await expect(fetching).rejects.toThrow("cancelled");
  expect(performance.now() - begun).toBeLessThan(10_000);
});
