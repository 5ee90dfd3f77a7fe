import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** `x-pgrcp/document`: the text behind a hit. */

const LONG = Array.from({ length: 400 }, (_, n) => `Sentence ${n} is about amber and its age.`).join(" ");
const DOCUMENTS = [
  { id: "long", text: LONG, meta: { title: "On amber", uri: "https://example.org/amber", email: "ann@example.org" } },
  { id: "short", text: "Basalt is dark." },
  { id: "part#7", text: "Its id looks like a chunk's." },
];

let db: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  db = await openTestDatabase();
  server = await startRcpServer({
    config: {
      redaction: { metaFields: ["email"] },
      rateLimit: { enabled: false },
      auth: { combinedTokens: true, read: { unredactedScope: "rcp:read.unredacted" } },
    },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
  token = await server.token({ tenant: "docs", credentials: ["read", "add", "delete"] });
  await server.call("index/add", { documents: DOCUMENTS }, { token });
});
afterAll(async () => {
  await server.close();
  await db.close();
});

const ask = async (params: object, as = token) => (await server.call("x-pgrcp/document", params, { token: as })).body;
const documentOf = async (params: object, as = token) =>
  (await ask(params, as))?.result?.document as Readonly<Record<string, unknown>> | undefined;

test("every hit's id leads to what the hit shows, and to the whole document that it is of", async () => {
  for (const unit of ["chunk", "document"] as const) {
    const { body } = await server.call("retrieve", { query: "amber basalt id", k: 50, unit }, { token });
    const hits = body?.result?.hits as readonly { readonly id: string; readonly chunk: { readonly docId: string } }[];
    expect(new Set(hits.map(({ chunk }) => chunk.docId))).toEqual(new Set(DOCUMENTS.map(({ id }) => id)));
    for (const { score: _score, scores: _scores, ...hit } of hits as readonly ((typeof hits)[number] & {
      readonly score: number;
      readonly scores: object;
    })[]) {
      if (unit === "chunk") expect(await documentOf({ id: hit.id, unit })).toEqual(hit);
      const sent = DOCUMENTS.find(({ id }) => id === hit.chunk.docId);
      expect(await documentOf({ id: hit.id })).toMatchObject({ unit: "document", text: sent?.text });
    }
  }
});

test("a document comes whole, with its source and trust, and without what is redacted", async () => {
  expect(await documentOf({ id: "long" })).toEqual({
    id: "long",
    text: LONG,
    unit: "document",
    meta: { title: "On amber", uri: "https://example.org/amber" },
    citation: {
      source: expect.any(String),
      uri: "https://example.org/amber",
      title: "On amber",
      start: 0,
      end: LONG.length,
    },
    trust: { level: "untrusted", injectionSuspected: false },
    chunk: { docId: "long", index: 0 },
  });
  const unredacted = await server.token({ tenant: "docs", scope: "rcp:read rcp:read.unredacted" });
  expect(await documentOf({ id: "long" }, unredacted)).toMatchObject({ meta: { email: "ann@example.org" } });
});

test("what is not there is not found: never written, deleted, another chunk, another tenant's", async () => {
  await server.call("index/add", { documents: [{ id: "gone", text: "Gone." }] }, { token });
  await server.call("index/delete", { ids: ["gone"] }, { token });
  const stranger = await server.token({ tenant: "stranger", credentials: ["read"] });
  const refused = { code: -32015, message: "Not found", data: { detail: expect.stringContaining("as it was given") } };
  for (const id of ["never", "gone", "long#999", "long#99999999999", "part#7", "#0"])
    expect([id, (await ask({ id, unit: "chunk" }))?.error]).toEqual([id, refused]);
  for (const id of ["long", "short", "never"]) expect((await ask({ id }, stranger))?.error).toEqual(refused);
});

test("it is advertised beside retrieve, needs the read credential, and says what is wrong with its params", async () => {
  const { body } = await server.call("info", {}, { token });
  expect(body?.result?.capabilities).toMatchObject({ "x-pgrcp": { methods: ["document"] } });
  const writer = await server.token({ tenant: "docs", credentials: ["add"] });
  expect((await ask({ id: "long" }, writer))?.error).toMatchObject({ code: -32012 });
  for (const [params, field] of [
    [{}, "id"],
    [{ id: 7 }, "id"],
    [{ id: "" }, "id"],
    [{ id: "x".repeat(2_000) }, "id"],
    [{ id: "long", unit: "passage" }, "unit"],
    [{ id: "long", unit: 1 }, "unit"],
  ] as const)
    expect((await ask(params))?.error).toMatchObject({ code: -32602, data: { field } });
});
