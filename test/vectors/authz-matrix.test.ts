import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Credential } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";
import { expectValidResponse } from "../support/validate-response.ts";

interface Entry {
  readonly id: string;
  readonly tag: string;
  readonly token: "none" | "invalid" | "read" | "add" | "delete" | "readAdd" | "all" | "empty";
  readonly method: string;
  readonly params: unknown;
  readonly expect: { readonly code: number; readonly http?: number };
}

const file = new URL("data/authz.json", import.meta.url);
const entries: readonly Entry[] = JSON.parse(readFileSync(file, "utf8")).entries;
const matrix = entries.filter(({ tag }) => tag === "matrix");

const CREDENTIALS: Readonly<Record<Entry["token"], readonly Credential[]>> = {
  none: [],
  invalid: [],
  read: ["read"],
  add: ["add"],
  delete: ["delete"],
  readAdd: ["read", "add"],
  all: ["read", "add", "delete"],
  empty: ["read"],
};

let database: TestDatabase;
let combined: RcpServer;
let separate: RcpServer;
let alive: string;
beforeAll(async () => {
  database = await openTestDatabase();
  const settings = { sessions: { mode: "required" }, rateLimit: { enabled: false }, capabilities: { embed: false } };
  const parts = {
    handlers: HANDLERS,
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
  };
  combined = await startRcpServer({ ...parts, config: { ...settings, auth: { combinedTokens: true } } });
  separate = await startRcpServer({ ...parts, config: settings });
  alive = await combined.token();
});
afterAll(async () => {
  await Promise.all([combined.close(), separate.close()]);
  await database.close();
});

afterEach(() => expectAlive(combined, alive));
countEntries("authz.json, the matrix", matrix);

async function answerTo({ token: kind, method, params }: Entry, server: RcpServer) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const type = ["content-type", "application/json"] as const;
  if (kind === "none") return server.send({ path: `/rcp/${method}`, body, headers: [type] });
  const scope = kind === "empty" ? { scope: "" } : {};
  const good = await server.token({ credentials: CREDENTIALS[kind], ...scope, subject: kind });
  if (kind === "invalid") return server.call(method, params, { token: `${good.slice(0, -4)}AAAA` });
  return server.call(method, params, { token: good, session: await server.initialize(good) });
}

describe("the shared matrix of token and method, over HTTP", () => {
  test.each(matrix.map((entry) => [entry.id, entry.token, entry.method, entry] as const))(
    "%s %s token, %s",
    async (_id, _token, _method, entry) => {
      const answer = await answerTo(entry, combined);

      expect(answer.status).toBe(entry.expect.http ?? 200);
      expect(answer.body?.error?.code ?? 0).toBe(entry.expect.code);
      expectStanding(answer.text, { payload: entry.params });
      expectValidResponse(entry.method, answer.body);
    },
  );

  test("with combined tokens off, two credentials in one hand are none", async () => {
    const gated = matrix.filter(({ token, method }) => CREDENTIALS[token].length > 1 && /retrieve|index/.test(method));
    expect(gated.length).toBeGreaterThanOrEqual(4);
    for (const entry of gated) expect((await answerTo(entry, separate)).body?.error?.code).toBe(-32012);
  });
});
