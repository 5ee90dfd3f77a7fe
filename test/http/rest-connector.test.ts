import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { type RecordingProxy, recordingProxy } from "../support/recording-proxy.ts";
import { type ConnectorTool, restConnectorClient } from "../support/rest-connector-client.ts";

/** An agent's way through the door, with a client that was written from the protocol's description alone. */

const FIELDS = { lang: "keyword", year: "int", draft: "bool", published: "date" } as const;
const [A, B] = ["tenant-a", "tenant-b"] as const;

let db: TestDatabase;
let proxy: RecordingProxy;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  db = await openTestDatabase({ fields: filterFields(FIELDS) });
  proxy = await recordingProxy();
  server = await startRcpServer({
    config: {
      database: db.config.database,
      auth: { combinedTokens: true },
      filter: { fields: FIELDS },
      // A door's call has no session to show.
      sessions: { mode: "required" },
      server: { publicUrl: proxy.url },
      rateLimit: { enabled: false },
    },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
  proxy.forwardTo(server.port);
  token = await server.token({ tenant: A, credentials: CREDENTIALS });
});
afterAll(async () => {
  await server.close();
  await proxy.close();
  await db.close();
});
beforeEach(() => {
  proxy.requests.length = 0;
});

interface Context {
  readonly verifiedTenantId?: unknown;
}
const RESOLVERS = { tenantId: (context: unknown) => (context as Context | undefined)?.verifiedTenantId };
const VERIFIED = { verifiedTenantId: A };

async function agent(options: { token?: string; resolvers?: typeof RESOLVERS } = { resolvers: RESOLVERS }) {
  const client = restConnectorClient({ token, ...options });
  const tools = await client.discover(`${proxy.url}/manifest`);
  const tool = (name: string): ConnectorTool => {
    const found = tools.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no tool ${name}`);
    return found;
  };
  const call = async (name: string, args: Record<string, unknown>, context: unknown = VERIFIED) =>
    client.call(tool(name), args, context);
  return { tools, tool, call };
}

describe("an agent with a resolver for tenantId", () => {
  test("is shown no tool with a tenantId to fill", async () => {
    const { tools, tool } = await agent();

    expect(tools.map(({ name }) => name)).toEqual([
      "retrieve",
      "retrieve_filtered",
      "get_document",
      "add_document",
      "delete_document",
    ]);
    for (const { exposedParams } of tools) expect(exposedParams.map(({ name }) => name)).not.toContain("tenantId");
    expect(tool("retrieve").exposedParams.map(({ name }) => name)).toEqual(["query", "k", "filter"]);
  });

  test("adds, searches, filters, reads and deletes", async () => {
    const { call } = await agent();
    const add = (id: string, text: string, meta: object) =>
      call("add_document", { id, text, meta: JSON.stringify(meta) });

    expect(
      await add("one", "amber and feldspar", {
        title: "Stones",
        lang: "en",
        year: 2023,
        draft: false,
        published: "2023-05-01",
      }),
    ).toMatchObject({
      status: 200,
      mapped: { id: "one", chunks: 1, error: undefined },
    });
    await add("two", "amber of the north", { lang: "de", year: 2024, draft: true, published: "2024-05-01" });
    const minted = await call("add_document", { text: "basalt" });
    expect(minted.mapped).toMatchObject({ id: expect.stringMatching(/./), chunks: 1 });

    const found = await call("retrieve", { query: "amber feldspar", k: 1 });
    expect(found.mapped).toEqual({
      passages: [
        {
          id: "one",
          documentId: "one",
          score: expect.any(Number),
          text: "amber and feldspar",
          source: "api",
          title: "Stones",
          trust: { level: "untrusted", injectionSuspected: false },
        },
      ],
      error: undefined,
    });
    const ids = async (name: string, args: Record<string, unknown>) => {
      const { raw, mapped } = await call(name, { query: "amber", k: 10, ...args });
      const { passages } = mapped as { passages?: { id: string }[] };
      return passages?.map(({ id }) => id).sort() ?? raw;
    };
    expect(await ids("retrieve", { filter: '{"field":"year","op":"gte","value":2024}' })).toEqual(["two"]);
    expect(await ids("retrieve_filtered", { year: 2023 })).toEqual(["one"]);
    expect(await ids("retrieve_filtered", { lang: "de" })).toEqual(["two"]);
    expect(await ids("retrieve_filtered", { draft: false })).toEqual(["one"]);
    expect(await ids("retrieve_filtered", { published: "2024-05-01", lang: "de", year: 2024, draft: true })).toEqual([
      "two",
    ]);
    expect(await ids("retrieve_filtered", { lang: "de", year: 2023 })).toEqual([]);

    expect((await call("get_document", { id: "one" })).mapped).toEqual({
      document: {
        id: "one",
        documentId: "one",
        text: "amber and feldspar",
        source: "api",
        title: "Stones",
        trust: { level: "untrusted", injectionSuspected: false },
        meta: { title: "Stones", lang: "en", year: 2023, draft: false, published: "2023-05-01" },
      },
      error: undefined,
    });
    expect(await call("get_document", { id: "three" })).toMatchObject({
      status: 404,
      mapped: { document: undefined, error: { code: -32015 } },
    });

    expect(await call("delete_document", { id: "two" })).toMatchObject({ status: 200, mapped: { deleted: 1 } });
    expect(await call("delete_document", { id: "two" })).toMatchObject({ status: 200, mapped: { deleted: 0 } });
    expect(await ids("retrieve_filtered", { lang: "de" })).toEqual([]);
  });

  test("sends its own tenant, whatever tenantId a hijacked model writes", async () => {
    const { call } = await agent();
    proxy.requests.length = 0;

    const { status } = await call("retrieve", { query: "amber", tenantId: B, tenant: B });

    expect(status).toBe(200);
    expect(proxy.requests).toEqual([
      {
        method: "POST",
        path: "/v1/retrieve",
        body: JSON.stringify({ query: "amber", k: "", filter: "", tenantId: A }),
      },
    ]);
  });

  test("sends nothing at all while nobody is verified", async () => {
    const { tools, call } = await agent();
    proxy.requests.length = 0;

    const args = { query: "amber", id: "one", text: "x", tenantId: B };
    for (const { name } of tools)
      for (const context of [{}, { verifiedTenantId: null }, { verifiedTenantId: undefined }, null])
        await expect(call(name, args, context)).rejects.toThrow('resolver for "tenantId" produced no value');
    expect(proxy.requests).toEqual([]);
  });

  test("whose resolver gives nothing but blanks is refused", async () => {
    const { call } = await agent();
    for (const verifiedTenantId of ["", " "]) {
      expect(await call("retrieve", { query: "amber" }, { verifiedTenantId })).toMatchObject({
        status: 403,
        ok: false,
      });
    }
  });
});

test("an agent without a resolver, whose model names another tenant, is refused and told so", async () => {
  const { tool, call } = await agent({});
  expect(tool("retrieve").exposedParams.map(({ name }) => name)).toContain("tenantId");

  expect(await call("retrieve", { query: "amber", tenantId: B })).toMatchObject({
    status: 403,
    mapped: {
      error: { code: -32012, data: { detail: expect.stringMatching(/^tenantId must be the token's tenant/) } },
    },
  });
});

test("a tool that the token is not good for is hidden, and refused to who knows it all the same", async () => {
  const { tool } = await agent();
  const readOnly = await server.token({ tenant: A, credentials: ["read"] });
  const reader = restConnectorClient({ token: readOnly, resolvers: RESOLVERS });

  expect((await reader.discover(`${proxy.url}/manifest`)).map(({ name }) => name)).not.toContain("add_document");
  expect(await reader.call(tool("add_document"), { text: "x" }, VERIFIED)).toMatchObject({
    status: 403,
    mapped: {
      error: { code: -32012, data: { detail: expect.stringMatching(/^index\/add needs the add credential/) } },
    },
  });
});
