import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

const FORBIDDEN = { jsonrpc: "2.0", id: 1, error: { code: -32012, message: "Not authorised" } };
const CALLS = [
  ["retrieve", { query: "amber" }],
  ["index/add", { documents: [{ id: "a", text: "amber" }] }],
  ["index/delete", { ids: ["a"] }],
] as const;

let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  db = await openTestDatabase();
  server = await startRcpServer({
    config: { auth: { combinedTokens: true, corporaClaim: "corpora" }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
  const token = await tokenFor("*");
  await server.call("index/add", { documents: [{ id: "a", text: "amber" }] }, { token });
  for (const name of ["docs", "notes"])
    await db.admin.query(
      compile(
        sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
select tenant_id, ${name}, language, model_identity, dimension, screening from pgrcp.corpora where tenant_id = 'acme' and corpus = 'default'`,
        (row) => row,
      ),
    );
});
afterAll(async () => {
  await server.close();
  await db.close();
});

const tokenFor = (corpora: unknown, claims: object = {}) =>
  server.token({ credentials: CREDENTIALS, ...claims, corpora });

describe("a token that is good for some corpora", () => {
  test.each(CALLS)("may %s there", async (method, params) => {
    const token = await tokenFor(["docs", "notes"]);
    for (const corpus of ["docs", "notes"])
      expectValidSuccess(method, (await server.call(method, params, { token, corpus })).body);
  });

  test.each(CALLS)(
    "has one answer to %s for corpora that are there and that are not: -32012",
    async (method, params) => {
      const token = await tokenFor("docs");

      const forbidden = await server.call(method, params, { token, corpus: "notes" });
      const byDefault = await server.call(method, params, { token });
      const unknown = await server.call(method, params, { token, corpus: "nowhere" });

      expectValidError(forbidden.body);
      expect(forbidden.body).toEqual(FORBIDDEN);
      expect(forbidden.text).toBe(unknown.text);
      expect(byDefault.text).toBe(unknown.text);
    },
  );

  test.each(CALLS)("has the same answer to %s for one that it names and that is not there", async (method, params) => {
    const token = await tokenFor("docs nowhere");
    expect((await server.call(method, params, { token, corpus: "nowhere" })).body).toEqual(FORBIDDEN);
  });

  test("names corpora of its own tenant alone", async () => {
    const token = await tokenFor("docs", { tenant: "globex" });
    expect((await server.call("retrieve", { query: "amber" }, { token, corpus: "docs" })).body).toEqual(FORBIDDEN);
  });

  test("may still ask what is asked of no corpus", async () => {
    const token = await tokenFor([]);
    for (const method of ["info", "ping"])
      expectValidSuccess(method, (await server.call(method, {}, { token, corpus: "notes" })).body);
  });

  test("is refused where it must name some and names none: 401", async () => {
    const answer = await server.call("retrieve", { query: "amber" }, { token: await tokenFor(undefined) });
    expect(answer.status).toBe(401);
    expect(server.observations).toContainEqual(expect.objectContaining({ kind: "token-refused", check: "corpora" }));
  });

  test("with * is good for all of them", async () => {
    const token = await tokenFor(["*"]);
    for (const corpus of ["docs", "notes"])
      expectValidSuccess("retrieve", (await server.call("retrieve", { query: "amber" }, { token, corpus })).body);
    expectValidSuccess("retrieve", (await server.call("retrieve", { query: "amber" }, { token })).body);
  });
});
