import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { MethodName } from "../../src/protocol/methods.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testGenerator, testReranker } from "../support/test-models.ts";

/** What the page on tenant isolation (seed 003) asks of a server, tried as a hijacked model would. */

const [A, B] = ["tenant-a", "tenant-b"] as const;
/** A word that only one tenant's documents have. */
const WORD = { [A]: "feldspar", [B]: "zirconium" } as const;
let opened: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  opened = await openTestDatabase();
  const { database, config } = opened;
  const corpora = new CachedCorpusStore(database);
  server = await startRcpServer({
    handlers: HANDLERS,
    database,
    corpora,
    reranker: testReranker(),
    generator: testGenerator(),
    config: { database: config.database, rateLimit: { enabled: false }, auth: { combinedTokens: true } },
  });
  for (const tenant of [A, B]) {
    const token = await server.token({ tenant, credentials: ["add"] });
    const documents = [
      { id: "plan", text: `amber plan of ${tenant}` },
      { id: `only-${tenant}`, text: `amber ${tenant}` },
      { id: "secret", text: WORD[tenant] },
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

type Built = { [Name in MethodName]: (typeof HANDLERS)[Name] extends undefined ? never : Name }[MethodName];

/** A call of every method that there is. */
const CALLS = {
  initialize: { protocolVersion: 1, client: { name: "test" } },
  info: {},
  ping: { nonce: 1 },
  shutdown: {},
  retrieve: { query: "amber", k: 10, unit: "document" },
  "index/add": { documents: [{ id: "plan", text: `amber plan of ${A}` }] },
  "index/delete": { ids: ["gone"] },
  embed: { inputs: ["amber"] },
  rerank: { query: "amber", passages: ["amber", "basalt"] },
  "query/transform": { query: "amber", method: "rewrite" },
  "catalog/list": {},
  feedback: { signals: [{ hitId: "plan", helpful: true }] },
  "x-pgrcp/document": { id: "plan" },
} as const satisfies Record<Built, object>;

const NAMES = ["tenant", "tenantId", "tenant_id", "X-Tenant-Id", "corpusOwner", "userId", "principal", "subject"];
const VALUES = [A, B, "", 7, null, ["x"], { id: B }];
/** What differs between two answers of the same. */
const lasting = (body: unknown): string =>
  JSON.stringify(body).replaceAll(/"(indexVersion|session|latencyMs)":("[^"]*"|[\d.]+)/g, '"$1":0');

test.each(Object.entries(CALLS))(
  "%s has no tenant to fill: whatever is sent as one, wherever, the answer is the same and B's data, too",
  async (method, params) => {
    const [ofA, ofB] = await Promise.all(
      [A, B].map((tenant) => server.token({ tenant, credentials: ["read", "add", "delete"] })),
    );
    const call = async (sent: object) => {
      const { body } = await server.call(method, sent, { token: ofA ?? "" });
      expect(body?.error).toBeUndefined();
      return lasting(body);
    };
    const atB = async () => {
      const { body } = await server.call("retrieve", { query: "amber zirconium", k: 100 }, { token: ofB ?? "" });
      return [body?.result?.hits, body?.result?.indexVersion];
    };
    const [own, before] = [await call(params), await atB()];

    for (const value of VALUES) {
      const claims = Object.fromEntries(NAMES.map((name) => [name, value]));
      for (const sent of [claims, { _meta: claims }])
        expect([sent, await call({ ...params, ...sent })]).toEqual([sent, own]);
    }

    expect(await atB()).toEqual(before);
  },
);

test("nothing that a server tells a client of itself has a tenant for a model to see", async () => {
  const told: unknown[] = [
    await asA("initialize", CALLS.initialize),
    await asA("info", {}),
    await asA("catalog/list", {}),
  ];
  for (const path of ["/.well-known/oauth-protected-resource", "/healthz", "/readyz", "/manifest"])
    told.push((await server.send({ method: "GET", path })).text);

  expect(JSON.stringify(told)).not.toMatch(/tenant|principal|subject/i);
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
  const search = async (word: string, tenant: string = A) => {
    const token = await server.token({ tenant, credentials: ["read"] });
    const { status, body } = await server.call("retrieve", { query: word, mode: "sparse" }, { token });
    return { status, body: lasting(body), hits: body?.result?.hits };
  };
  const [foreign, none] = [await search(WORD[B]), await search("nowhere")];

  expect(await search(WORD[B], B)).toMatchObject({ hits: [{ id: "secret" }] });
  expect(foreign).toMatchObject({ status: 200, hits: [] });
  expect(foreign).toEqual(none);
  const token = await server.token({ tenant: A, credentials: ["delete"] });
  const remove = async (id: string) => (await server.call("index/delete", { ids: [id] }, { token })).body;
  expect((await remove(`only-${B}`))?.result).toEqual((await remove("only-nobody"))?.result);
});
