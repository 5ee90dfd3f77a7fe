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
      redaction: { metaFields: ["email", "author.phone", "patient"] },
      rateLimit: { enabled: false },
      auth: { combinedTokens: true, read: { unredactedScope: "rcp:read.unredacted" } },
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
  const meta = {
    year: 2024,
    email: "ann@example.org",
    author: { name: "Ann", phone: "555-0100" },
    "author.phone": "555-0101",
    "patient.name": "555-0102",
    patient: { id: "555-0103" },
  };
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

test("RCP §15.6: only a reader's token with the scope for it sees what is redacted, page by page", async () => {
  const tenant = "lifted";
  const meta = { year: 2024, email: "ann@example.org", patient: { id: 7 } };
  const documents = ["a", "b"].map((id) => ({ id, text: `amber ${id}`, meta }));
  await server.call("index/add", { documents }, { token: await server.token({ tenant, credentials: ["add"] }) });
  const pages = async (scope: string) => {
    const token = await server.token({ tenant, scope });
    const page = async (cursor?: unknown) => {
      const { body } = await server.call("retrieve", { query: "amber", k: 1, cursor }, { token });
      const [hit] = (body?.result?.hits ?? []) as readonly { readonly meta: object }[];
      return { meta: hit?.meta, next: body?.result?.nextCursor };
    };
    const first = await page();
    return [first.meta, (await page(first.next)).meta];
  };

  expect(await pages("rcp:read rcp:read.unredacted")).toEqual([meta, meta]);
  for (const scope of ["rcp:read", "rcp:read rcp:read.unredacted.not", "rcp:read RCP:READ.UNREDACTED"])
    expect(await pages(scope)).toEqual([{ year: 2024 }, { year: 2024 }]);
  const alone = await server.token({ tenant, scope: "rcp:read.unredacted" });
  expect((await server.call("retrieve", { query: "amber" }, { token: alone })).body?.error?.code).toBe(-32012);
});

test("RCP §15.6: a redacted member is no oracle: nobody filters or ages by it, and nothing advertises it", async () => {
  for (const scope of ["rcp:read", "rcp:read rcp:read.unredacted"]) {
    const token = await server.token({ tenant: "redacted", scope });
    const refusal = async (params: object) =>
      (await server.call("retrieve", { query: "amber", ...params }, { token })).body?.error;
    for (const field of ["email", "author.phone", "author", "patient", "patient.name"]) {
      for (const op of ["eq", "exists", "lt"]) {
        const filter = { field, op, value: op === "exists" ? true : "ann@example.org" };
        expect(await refusal({ filter })).toMatchObject({ code: -32602, data: { field: "filter.field" } });
        expect(await refusal({ filter: { not: filter } })).toMatchObject({ code: -32602 });
      }
      expect(await refusal({ recency: { field, halfLifeDays: 1 } })).toMatchObject({ code: -32602 });
    }
    for (const method of ["info", "catalog/list", "initialize"]) {
      const { text } = await server.call(method, { protocolVersion: 1 }, { token });
      expect(text).toContain('"year"');
      expect(text).not.toMatch(/email|patient|phone/);
    }
  }
});
