import { afterAll, beforeAll, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { showDocument } from "../../src/maintenance/documents.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** RCP §15.6: redaction. */

const FIELDS = { year: "int" } as const;
let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  db = await openTestDatabase({ fields: filterFields(FIELDS) });
  server = await startRcpServer({
    config: {
      filter: { fields: FIELDS },
      redaction: { metaFields: ["email", "author.phone"] },
      rateLimit: { enabled: false },
      auth: { combinedTokens: true },
    },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
});
afterAll(async () => {
  await server.close();
  await db.close();
});

test("RCP §15.6: no answer has a redacted member of meta, in any unit, page or stream, and it stays stored", async () => {
  const token = await server.token({ tenant: "redacted", credentials: CREDENTIALS });
  const meta = { year: 2024, email: "ann@example.org", author: { name: "Ann", phone: "555-0100" } };
  const documents = ["a", "b"].map((id) => ({ id, text: `amber ${id}`, meta }));
  await server.call("index/add", { documents }, { token });
  const metasOf = (hits: unknown) => (hits as { readonly meta: object }[]).map((hit) => hit.meta);
  const shown = { year: 2024, author: { name: "Ann" } };

  for (const params of [{ unit: "chunk" }, { unit: "document" }, { includeText: false }, { tokenBudget: 100 }]) {
    const { text, body } = await server.call("retrieve", { query: "amber", ...params }, { token });
    expect(metasOf(body?.result?.hits)).toEqual([shown, shown]);
    expect(text).not.toMatch(/example\.org|555/);
  }
  const first = await server.call("retrieve", { query: "amber", k: 1 }, { token });
  const second = await server.call(
    "retrieve",
    { query: "amber", k: 1, cursor: first.body?.result?.nextCursor },
    { token },
  );
  expect(metasOf(second.body?.result?.hits)).toEqual([shown]);

  const stored = await showDocument(db.operator, { tenant: "redacted", corpus: "default" }, "a");
  expect(stored).toMatchObject({ meta });
});

test("RCP §15.6: a redacted member cannot be asked for by a filter", async () => {
  const token = await server.token({ tenant: "redacted" });

  for (const field of ["email", "author.phone"]) {
    const filter = { field, op: "eq", value: "ann@example.org" };
    const { body } = await server.call("retrieve", { query: "amber", filter }, { token });
    expect(body?.error).toMatchObject({ code: -32602, data: { field: "filter.field" } });
  }
});
