import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { ENVELOPE_ENTRIES, envelopeBody, expectEnvelope } from "../support/envelope-vectors.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";

let database: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      sessions: { mode: "required", maxPerPrincipal: 1_000 },
      // In this fixture only retrieve and index are advertised.
      capabilities: { embed: false, feedback: false, catalog: false },
      limits: { maxBatch: 100, maxJsonDepth: 64 },
      server: { maxBodyBytes: 1_048_576 },
    },
    handlers: HANDLERS,
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
  });
  token = await server.token({ credentials: ["read", "add", "delete"] });
});
afterAll(async () => {
  await server.close();
  await database.close();
});

afterEach(() => expectAlive(server, token));
countEntries("envelope.json", ENVELOPE_ENTRIES);

describe("the shared envelope vectors over HTTP", () => {
  test("are 126, each with one of the three kinds of body", () => {
    expect(ENVELOPE_ENTRIES).toHaveLength(126);
    for (const { raw, body, rawGen } of ENVELOPE_ENTRIES)
      expect([raw, body, rawGen].filter((one) => one !== undefined)).toHaveLength(1);
  });

  test.each(ENVELOPE_ENTRIES.map((entry) => [entry.id, entry.note ?? "", entry] as const))(
    "%s %s",
    async (_id, _note, entry) => {
      const session = entry.session ? { session: await server.initialize(token) } : {};
      const payload = envelopeBody(entry);
      const answer = await server.post(entry.path, payload, { token, ...session });

      expectEnvelope(answer, entry);
      expectStanding(answer.text, { payload, token });
      expect(answer.text).not.toMatch(/SECRET|polluted/);
    },
  );

  test("a nonce inherited from __proto__ is not echoed", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"nonce":"x"}}}';
    const answer = await server.post("/rcp/ping", body, { token });
    expect(answer.text).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
});
