import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

interface Entry {
  readonly id: string;
  /** JSON text of the id member; null = the member is absent. */
  readonly raw: string | null;
  readonly expect:
    | { readonly kind: "echo"; readonly value: string | number }
    | { readonly kind: "error"; readonly http: number; readonly code: number; readonly responseId: null }
    | { readonly kind: "notification"; readonly http: number };
}

const file = new URL("data/ids.json", import.meta.url);
const entries: readonly Entry[] = JSON.parse(readFileSync(file, "utf8")).entries;

let database: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  database = await openTestDatabase();
  const corpora = new CachedCorpusStore(database.database);
  server = await startRcpServer({ handlers: HANDLERS, database: database.database, corpora });
  token = await server.token();
});
afterAll(async () => {
  await server.close();
  await database.close();
});
afterEach(() => expectAlive(server, token));
countEntries("ids.json", entries);

describe("the shared id vectors over HTTP", () => {
  test("are 32", () => expect(entries).toHaveLength(32));

  test.each(entries.map((entry) => [entry.id, entry] as const))("%s", async (_id, { raw, expect: expected }) => {
    const idMember = raw === null ? "" : `"id":${raw},`;
    const answer = await server.post("/rcp/ping", `{"jsonrpc":"2.0",${idMember}"method":"ping","params":{}}`, {
      token,
    });
    expectStanding(answer.text, { token });

    switch (expected.kind) {
      case "echo":
        expect(answer.status).toBe(200);
        expectValidSuccess("ping", answer.body);
        expect(answer.body?.id).toBe(expected.value);
        break;
      case "error":
        expect(answer.status).toBe(expected.http);
        expectValidError(answer.body);
        expect(answer.body).toMatchObject({ id: expected.responseId, error: { code: expected.code } });
        break;
      case "notification":
        expect(answer).toMatchObject({ status: expected.http, text: "" });
    }
  });

  test("minus zero is echoed as 0, not -0", async () => {
    const answer = await server.post("/rcp/ping", '{"jsonrpc":"2.0","id":-0,"method":"ping"}');
    expect(answer.text).toBe('{"jsonrpc":"2.0","id":0,"result":{}}');
  });

  test("a lone surrogate is echoed as the escape it came as", async () => {
    const answer = await server.post("/rcp/ping", '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}');
    expect(answer.text).toBe('{"jsonrpc":"2.0","id":"\\ud800","result":{}}');
  });
});
