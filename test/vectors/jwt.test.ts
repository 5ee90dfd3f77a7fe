import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { configSchema } from "../../src/config/config.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { forge, KEY_SETS, type VectorEntry } from "../auth/token-forge.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { sendRaw } from "../support/fuzz/send.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

const file = new URL("data/jwt.json", import.meta.url);
const { fixture, entries } = JSON.parse(readFileSync(file, "utf8")) as {
  fixture: { header: Record<string, unknown>; claims: Record<string, unknown> };
  entries: VectorEntry[];
};

/** A line break ends the header that holds it, so such a token cannot arrive: the request is none. */
const CANNOT_ARRIVE = /[\r\n]/;

let database: TestDatabase;
/** One for each key set of the fixture. */
const servers = new Map<string, RcpServer>();
let good: string;

beforeAll(async () => {
  database = await openTestDatabase();
  const corpora = new CachedCorpusStore(database.database);
  const { auth } = configSchema.parse({
    auth: {
      issuers: [{ issuer: "https://idp.example/", jwksUri: "https://idp.example/keys" }],
      read: { audience: "https://rcp.example/rcp" },
    },
  });
  for (const [name, keys] of Object.entries(KEY_SETS)) {
    const fetch = (async () => Response.json({ keys })) as typeof globalThis.fetch;
    const server = await startRcpServer({
      config: { rateLimit: { enabled: false } },
      handlers: HANDLERS,
      database: database.database,
      corpora,
      verifier: createTokenVerifier(auth, { fetch }),
    });
    servers.set(name, server);
  }
  const first = entries.find(({ id }) => id === "JWT-001");
  good = first === undefined ? "" : tokenOf(first);
});
afterAll(async () => {
  for (const server of servers.values()) await server.close();
  await database.close();
});
afterEach(() => expectAlive(serverOf("default"), good));
countEntries("jwt.json", entries);

const tokenOf = (entry: VectorEntry): string => forge(entry, fixture, Math.floor(Date.now() / 1000));

function serverOf(name: string): RcpServer {
  const server = servers.get(name);
  if (server === undefined) throw new Error(`no such key set: ${name}`);
  return server;
}

describe("the shared token vectors over HTTP", () => {
  test.each(entries.map((entry) => [entry.id, entry.name, entry] as const))("%s %s", async (_id, _name, entry) => {
    const isTransport = entry.tag === "transport";
    const token = isTransport ? good : tokenOf(entry);
    const fill = (text: string) => text.replaceAll("{{good}}", good).replaceAll("{{session}}", "A".repeat(43));
    const auth = isTransport ? (entry.headers ?? []) : [["Authorization", `Bearer ${token}`] as const];
    const request = {
      verb: "POST",
      path: fill(entry.path ?? "/rcp/info"),
      headers: [["content-type", "application/json"], ...auth.map(([name, value]) => [name, fill(value)] as const)],
      body: fill(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "info", params: entry.params ?? {} })),
    } as const;

    const { status, head, text } = await sendRaw(serverOf(entry.jwks ?? "default").port, request, 10_000);

    expectStanding(text, { token });
    if (CANNOT_ARRIVE.test(token)) {
      expect([status, text]).toEqual([400, ""]);
    } else if (entry.expect.auth === "accept") {
      expect(status).toBe(200);
      expectValidSuccess("info", JSON.parse(text));
    } else {
      expect(status).toBe(401);
      expect(head).toMatch(/^www-authenticate: Bearer/im);
      expectValidError(JSON.parse(text));
      // Whatever was wrong with it, the same bytes.
      expect(text).toBe('{"jsonrpc":"2.0","id":null,"error":{"code":-32012,"message":"Not authorised"}}');
    }
  });
});
