import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { isOwnUrlKnown, ownUrl } from "../../src/http/own-url.ts";

const settings = (server: object) => configSchema.parse({ server }).server;
const tls = { certFile: "cert.pem", keyFile: "key.pem" };
const listening = (address: string, family = "IPv4") => ({ address, family, port: 8787 });

describe("the address of a server", () => {
  test.each([
    [{}, listening("127.0.0.1"), "http://127.0.0.1:8787"],
    [{ tls }, listening("127.0.0.1"), "https://127.0.0.1:8787"],
    [{ host: "::1" }, listening("::1", "IPv6"), "http://[::1]:8787"],
    [{ publicUrl: "https://rcp.example.org" }, listening("127.0.0.1"), "https://rcp.example.org"],
    [{ publicUrl: "https://example.org/search/" }, listening("0.0.0.0"), "https://example.org/search"],
  ])("with %j is what is configured, else where it listens", (server, address, url) => {
    expect(ownUrl(settings(server), address)).toBe(url);
  });

  test.each([
    [{}, true],
    [{ host: "localhost", tls }, true],
    [{ behindTls: true }, false],
    [{ host: "0.0.0.0", tls }, false],
    [{ host: "0.0.0.0", behindTls: true, publicUrl: "https://rcp.example.org" }, true],
  ])("with %j is one that clients may be told: %j", (server, isKnown) => {
    expect(isOwnUrlKnown(settings(server))).toBe(isKnown);
  });
});
