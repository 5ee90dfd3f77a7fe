import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

/** Messages that are nearly right, at the MCP door. PGRCP_TEST_FULL=1 sends more; PGRCP_TEST_SEED repeats a run. */
const MESSAGES = process.env.PGRCP_TEST_FULL === "1" ? 10_000 : 600;
/** Only in what the other tenant wrote. */
const SECRET = "onlyforglobex";

const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const ODD: readonly unknown[] = [
  ...[null, 0, -1, 1.5, 1e308, "", "x", "\ud800", "\u0000", "#0", "__proto__", "constructor", "globex", true],
  ...[[], {}, [1], { a: 1 }, { tenantId: "globex" }, JSON.parse('{"__proto__":{"tenant":"globex"}}')],
];
const METHODS = [
  ...[
    "tools/list",
    "tools/call",
    "tools/call",
    "tools/call",
    "resources/read",
    "resources/list",
    "resources/templates/list",
  ],
  ...[
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "prompts/list",
    "notifications/cancelled",
    "x",
    "",
  ],
];
const ARGUMENTS = ["query", "k", "filters", "corpus", "id", "unit", "tenantId", "_meta"];
const PARAMS = ["uri", "requestId", "protocolVersion", "notifications", "cursor", "capabilities", "clientInfo"];

let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  db = await openTestDatabase();
  const corpora = new CachedCorpusStore(db.database);
  const config = { auth: { combinedTokens: true }, rateLimit: { enabled: false } };
  server = await startRcpServer({ config, handlers: HANDLERS, database: db.database, corpora });
  for (const tenant of ["acme", "globex"]) {
    const token = await server.token({ tenant, credentials: ["add"] });
    const text = `x amber of ${tenant === "globex" ? SECRET : tenant}`;
    await server.call("index/add", { documents: [{ id: "x", text }] }, { token });
  }
});
afterAll(async () => {
  await server.close();
  await db.close();
});

function message(random: SeededRandom) {
  const odds = (one: number) => random.integer(1, one) === 1;
  const some = (names: readonly string[]) =>
    Object.fromEntries(names.filter(() => odds(4)).map((name) => [name, odds(3) ? "x" : random.pick(ODD)]));
  const isNew = odds(2);
  const method = random.pick(METHODS);
  const params: Record<string, unknown> = {
    ...some(PARAMS),
    name: odds(6) ? random.pick(ODD) : random.pick(["search", "fetch", "list_corpora"]),
    arguments: odds(6) ? random.pick(ODD) : { query: "amber", ...some(ARGUMENTS) },
    ...(isNew && {
      _meta: odds(8) ? { ...ENVELOPE, [random.pick(Object.keys(ENVELOPE))]: random.pick(ODD) } : ENVELOPE,
    }),
  };
  const body = {
    jsonrpc: "2.0",
    id: odds(6) ? random.pick(ODD) : 1,
    method,
    params: odds(15) ? random.pick(ODD) : params,
    ...(odds(20) && { [random.pick(["jsonrpc", "method", "id", "result"])]: random.pick(ODD) }),
  };
  const name = String(method === "resources/read" ? params.uri : params.name);
  const headers: (readonly [string, string])[] = [
    ["accept", "application/json, text/event-stream"],
    ...(isNew ? ([["mcp-protocol-version", "2026-07-28"]] as const) : []),
    ...(isNew && !odds(8) ? ([["mcp-method", method]] as const) : []),
    ...(isNew && /^[\x21-\x7e]*$/.test(name) ? ([["mcp-name", name]] as const) : []),
  ];
  return { text: JSON.stringify(body), headers };
}

test(`each of ${MESSAGES} messages is answered, none with a failure of the server or a word of another tenant`, async () => {
  const seed = testSeed();
  console.info(`seed ${seed} (PGRCP_TEST_SEED)`);
  const random = new SeededRandom(seed);
  const token = await server.token();
  const statuses = new Set<number>();
  for (let sent = 0; sent < MESSAGES; sent += 1) {
    const { text, headers } = message(random);
    const answer = await server.send({
      path: "/mcp",
      headers: [["authorization", `Bearer ${token}`], ["content-type", "application/json"], ...headers],
      body: text,
    });
    statuses.add(answer.status);
    expect([text, answer.status < 500, answer.text.includes(SECRET)]).toEqual([text, true, false]);
  }
  expect(statuses).toContain(200);
  expect(server.observations.filter(({ kind }) => kind === "internal-error")).toEqual([]);
});
