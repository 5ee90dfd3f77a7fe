import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** What the page on tenant isolation (seed 003) asks of a server, tried as a hijacked model would. */

const [A, B] = ["tenant-a", "tenant-b"] as const;
let opened: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  opened = await openTestDatabase();
  const { database, config } = opened;
  const corpora = new CachedCorpusStore(database);
  server = await startRcpServer({ handlers: HANDLERS, database, corpora, config: { database: config.database } });
  for (const tenant of [A, B]) {
    const token = await server.token({ tenant, credentials: ["add"] });
    const documents = [
      { id: "plan", text: `amber plan of ${tenant}` },
      { id: `only-${tenant}`, text: `amber ${tenant}` },
    ];
    expect((await server.call("index/add", { documents }, { token })).body?.error).toBeUndefined();
  }
});
afterAll(async () => {
  await server?.close();
  await opened?.close();
});

const asA = async (method: string, params: unknown) => {
  const token = await server.token({ tenant: A, credentials: ["read"] });
  return (await server.call(method, params, { token })).body;
};

test("a tenant that a model writes into params is ignored: the token's tenant answers, and no value is logged", async () => {
  const query = { query: "amber", k: 10 };
  const own = await asA("retrieve", query);

  for (const claim of [{ tenantId: B }, { tenant: B }, { tenant_id: B }, { _meta: { tenantId: B } }]) {
    const hijacked = await asA("retrieve", { ...query, ...claim });
    expect(hijacked?.result?.hits).toEqual(own?.result?.hits);
    expect(JSON.stringify(hijacked)).not.toContain(B);
  }
  const ignored = server.observations.filter(({ kind }) => kind === "identity-ignored");
  expect(ignored).toHaveLength(4);
  expect(JSON.stringify(ignored)).not.toContain(B);
});

test("nothing that a server offers has a tenant for a model to fill", async () => {
  const info = await asA("info", {});

  expect(JSON.stringify(info?.result?.capabilities)).not.toMatch(/tenant|principal|subject/i);
});

test("without a verified caller nothing runs: 401 and -32012, for every method alike", async () => {
  for (const method of ["initialize", "info", "retrieve", "index/add", "catalog/list", "no/such/method"]) {
    const { status, body } = await server.send({
      path: `/rcp/${method}`,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { tenantId: A } }),
      headers: [["content-type", "application/json"]],
    });
    expect([method, status, body?.error?.code]).toEqual([method, 401, -32012]);
  }
});

test("§15.6 to ask for another tenant's document is to ask for one that is not there", async () => {
  const read = (id: string) => asA("retrieve", { query: id, mode: "sparse" });
  const [foreign, none] = [await read(`only-${B}`), await read("only-nobody")];

  expect(foreign?.error).toBeUndefined();
  expect(JSON.stringify(foreign?.result?.hits)).not.toContain(B);
  expect(none?.error).toBeUndefined();
  const token = await server.token({ tenant: A, credentials: ["delete"] });
  const remove = async (id: string) => (await server.call("index/delete", { ids: [id] }, { token })).body;
  expect((await remove(`only-${B}`))?.result).toEqual((await remove("only-nobody"))?.result);
});
