import type { Config } from "./config.ts";
import { dotted } from "./config-error.ts";
import { isLoopback } from "./loopback.ts";
import { type Rule, runRules, when } from "./rules.ts";

const WARNINGS: readonly Rule[] = [
  {
    reads: [],
    find: ({ limits, server }) =>
      when(
        limits.maxTextBytes > Math.max(server.maxBodyBytes, server.maxAddBodyBytes),
        "limits.maxTextBytes",
        `a text that long never arrives: server.maxAddBodyBytes is ${server.maxAddBodyBytes}`,
      ),
  },
  {
    reads: [],
    find: ({ auth }) =>
      auth.issuers.flatMap(({ jwksUri }, index) => {
        if (jwksUri === undefined) return [];
        const { protocol, hostname } = new URL(jwksUri);
        if (protocol === "https:" || isLoopback(hostname)) return [];
        const text = "plain http: whoever can answer in the provider's place can make tokens; use https";
        return [{ path: ["auth", "issuers", index, "jwksUri"], text }];
      }),
  },
  {
    reads: [],
    find: ({ models }) =>
      Object.entries(models).flatMap(([name, server]) => {
        if (server === undefined || !("url" in server) || server.apiKey === undefined) return [];
        const { protocol, hostname } = new URL(server.url);
        return when(
          protocol === "http:" && !isLoopback(hostname),
          `models.${name}.url`,
          "plain http: the API key crosses the network in the clear; use https",
        );
      }),
  },
  {
    reads: [],
    find: ({ auth }) =>
      when(auth.combinedTokens, "auth.combinedTokens", "a token that leaks may read, add and delete alike"),
  },
  {
    reads: [],
    find: ({ rateLimit, server }) =>
      when(
        !rateLimit.enabled && !isLoopback(server.host),
        "rateLimit.enabled",
        "off, and other machines can reach this server",
      ),
  },
  {
    reads: [],
    find: ({ rateLimit: { redis } }) => {
      if (redis === undefined) return [];
      const { protocol, hostname, password } = new URL(redis.url);
      const isClear = protocol === "redis:" && password !== "" && !isLoopback(hostname);
      return when(isClear, "rateLimit.redis.url", "its password crosses the network in the clear; use rediss");
    },
  },
  {
    reads: [],
    find: ({ doors, server }) =>
      when(
        doors.rest && server.publicUrl === undefined && (server.behindTls || !isLoopback(server.host)),
        "server.publicUrl",
        "unset, so GET /manifest (doors.rest) would have no addresses to name and is not there; say how clients reach this server",
      ),
  },
  {
    reads: [],
    find: ({ server }) =>
      when(
        server.behindTls && server.trustedProxies.length === 0,
        "server.trustedProxies",
        "names nobody, so all clients behind a proxy share its limits per address; name what ends TLS",
      ),
  },
];

/** What may be used but is probably not meant, one readable line each. */
export function configWarnings(config: Config): string[] {
  return runRules(WARNINGS, config).map(({ path, text }) => `${dotted(path)}: ${text}`);
}
