import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { checkRedirect, checkUri } from "../../src/fetch/check-uri.ts";

const settingsOf = (fetch: object) => configSchema.parse({ fetch }).fetch;
const anyName = settingsOf({ allowedHosts: ["*"] });
const stageOf = (uri: string, settings = anyName) => {
  try {
    return checkUri(uri, settings).href;
  } catch (error) {
    return (error as { stage: string }).stage;
  }
};

describe("spellings of hosts that are no public names", () => {
  test.each([
    ["https://0x7f000001/", "ip-literal"],
    ["https://0177.0.0.01/", "ip-literal"],
    ["https://127.1/", "ip-literal"],
    ["https://127.0.0.1.:443/", "ip-literal"],
    ["https://0xA9.0xFE.0xA9.0xFE/", "ip-literal"],
    ["https://2852039166/", "ip-literal"],
    ["https://[::ffff:127.0.0.1]/", "ip-literal"],
    ["https://[::FFFF:7F00:1]/", "ip-literal"],
    ["https://[64:ff9b::a9fe:a9fe]/", "ip-literal"],
    ["https://[2002:7f00:1::]/", "ip-literal"],
    ["https://%5B::1%5D/", "form"],
    ["https://[fe80::1%25lo]/", "form"],
    ["https://[::1]:443@docs.example.com/", "userinfo"],
    ["https://@docs.example.com/", "userinfo"],
    ["https://a%40b@docs.example.com/", "userinfo"],
    ["https://localhost/", "host"],
    ["https://a.localHost/", "host"],
    ["https://printer/", "host"],
    ["https://db.corp/", "host"],
    ["https://1.0.0.127.in-addr.arpa/", "host"],
    ["https://docs.example.com./", "host"],
    ["https://docs.example%2ecom/", "host"],
    ["https://docs.exa_mple.com/", "host"],
    [`https://${"a".repeat(64)}.example.com/`, "host"],
    ["https://docs.example.com:0443x/", "form"],
    ["https://docs.example.com:80/", "port"],
    ["http://docs.example.com/", "scheme"],
    ["hTTp://docs.example.com/", "scheme"],
    ["gopher://docs.example.com/", "scheme"],
    ["https:///docs.example.com", "form"],
    ["https:\\\\docs.example.com", "form"],
    ["https://docs.example.com\t/", "form"],
    ["https://docs.example\u3002com/", "form"],
    ["https://\u24d3ocs.example.com/", "form"],
    ["https://docs.example.com/caf\u00e9", "form"],
    ["https://docs.example.com/\ud800", "form"],
    ["", "form"],
  ])("%s is refused for its %s", (uri, stage) => {
    expect(stageOf(uri)).toBe(stage);
  });
});

test.each([
  ["hTTpS://Docs.Example.COM", "https://docs.example.com/"],
  ["https://docs.example.com:443", "https://docs.example.com/"],
  ["https://docs.example.com:00443/", "https://docs.example.com/"],
  ["https://xn--bcher-kva.example.org/", "https://xn--bcher-kva.example.org/"],
  ["https://docs.example.com/?@127.0.0.1", "https://docs.example.com/?@127.0.0.1"],
])("%s may be fetched", (uri, href) => {
  expect(stageOf(uri)).toBe(href);
});

describe("allowedHosts", () => {
  const settings = settingsOf({ allowedHosts: ["docs.example.com", "*.example.org", "10.1.2.3", "[fd00::1]", "wiki"] });

  test.each([
    ["https://docs.example.com/", "https://docs.example.com/"],
    ["https://a.docs.example.com/", "allowlist"],
    ["https://example.org/", "allowlist"],
    ["https://a.b.example.org/", "https://a.b.example.org/"],
    ["https://evilexample.org/", "allowlist"],
    ["https://example.org.evil.example.net/", "allowlist"],
    ["https://10.1.2.3/", "https://10.1.2.3/"],
    ["https://0xa.1.2.3/", "https://10.1.2.3/"],
    ["https://10.1.2.4/", "ip-literal"],
    ["https://[fd00:0::1]/", "https://[fd00::1]/"],
    ["https://wiki/", "https://wiki/"],
    ["https://wiki./", "host"],
  ])("of names, addresses and all names below one: %s is %s", (uri, answer) => {
    expect(stageOf(uri, settings)).toBe(answer);
  });

  test.each([
    "Docs.example.com",
    "docs.example.com:443",
    "https://docs.example.com",
    "a.",
    "*",
    "*.*",
    "*.",
    "a/b",
    "",
  ])("%j is a host pattern: as a host is written in a URL, or refused", (pattern) => {
    const isGood = configSchema.safeParse({ fetch: { allowedHosts: [pattern] } }).success;
    expect(isGood).toBe(pattern === "*");
  });
});

test("file: is a scheme only where there is a folder for it, and has no host", () => {
  const withFiles = settingsOf({ fileRoot: "/srv/documents" });

  expect(stageOf("file:///srv/documents/a.txt")).toBe("scheme");
  expect(stageOf("file:///srv/documents/a.txt", withFiles)).toBe("file:///srv/documents/a.txt");
  for (const uri of ["file://host/srv/documents/a.txt", "file:/srv/documents/a.txt", "file:////srv/a.txt", "file:a"])
    expect(stageOf(uri, withFiles)).toBe("form");
});

test("a redirect may lead from http to https and not back", () => {
  const settings = settingsOf({ schemes: ["http", "https"], ports: [80, 443], allowedHosts: ["*"] });
  const follow = (location: string, from: string) => () => checkRedirect(location, new URL(from), settings).href;

  expect(follow("https://docs.example.com/", "http://docs.example.com/")()).toBe("https://docs.example.com/");
  expect(follow("http://docs.example.com/", "https://docs.example.com/")).toThrow();
  expect(follow("//docs.example.com/", "https://docs.example.com/")()).toBe("https://docs.example.com/");
});
