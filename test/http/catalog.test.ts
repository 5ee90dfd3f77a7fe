import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type CallOptions, type RcpServer, type RpcAnswer, startRcpServer } from "../support/rcp-server.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";
import { expectValidSuccess } from "../support/validate-response.ts";

let issuer: TestIssuer;
let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  issuer = await testIssuer();
  db = await openTestDatabase();
  server = await serve({ server: { publicUrl: "https://rcp.example.org/" } });
  for (const [tenant, corpora] of [
    ["acme", ["default", "notes", "docs"]],
    ["globex", ["default", "mergers"]],
  ] as const)
    await make(tenant, corpora);
});
afterAll(async () => {
  await server.close();
  await db.close();
});

function serve(config: Readonly<Record<string, unknown>>): Promise<RcpServer> {
  const auth = { combinedTokens: true, corporaClaim: "corpora" };
  return startRcpServer({
    issuer,
    config: { ...config, auth, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
}

async function make(tenant: string, corpora: readonly string[]): Promise<void> {
  const run = (statement: ReturnType<typeof sql>) => db.admin.query(compile(statement, (row) => row));
  await run(sql`insert into pgrcp.tenants (tenant_id) values (${tenant}) on conflict do nothing`);
  await run(sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
select ${tenant}, name, 'none', 'test-bag-of-words@32', 32, 'flag' from unnest(${corpora}::text[]) name`);
}

const tokenOf = (
  tenant: string,
  corpora: unknown = "*",
  credentials: readonly ("read" | "add" | "delete")[] = ["read"],
) => issuer.mint({ tenant, corpora, credentials });
const list = async (token: string, options: CallOptions = {}, from = server) =>
  from.call("catalog/list", {}, { token, ...options });
type Shown = { readonly catalog?: { readonly engines: number } };
const idsOf = ({ body }: RpcAnswer) =>
  ((body?.result?.engines ?? []) as readonly { readonly id: string }[]).map(({ id }) => id);
const shown = ({ body }: RpcAnswer) => (body?.result?.capabilities ?? {}) as Shown;
const engines = (answer: RpcAnswer) => shown(answer).catalog?.engines;

describe("RCP §7.13, catalog/list", () => {
  test("names the tenant's corpora in order, each as an engine with what its initialize would say", async () => {
    const token = await tokenOf("acme");

    const answer = await list(token);
    const info = await server.call("info", {}, { token });

    expectValidSuccess("catalog/list", answer.body);
    const { catalog, ...capabilities } = shown(info);
    expect(catalog).toEqual({ engines: 3 });
    const engine = (id: string, path: string) => ({
      id,
      server: info.body?.result?.server,
      capabilities,
      endpoint: { transport: "http", url: `https://rcp.example.org${path}` },
      "x-pgrcp-language": "none",
    });
    expect(answer.body?.result).toEqual({
      engines: [engine("default", "/rcp"), engine("docs", "/corpora/docs/rcp"), engine("notes", "/corpora/notes/rcp")],
    });
  });

  test("names no corpus of another tenant, and to a tenant that has none the empty default", async () => {
    expect(idsOf(await list(await tokenOf("globex")))).toEqual(["default", "mergers"]);
    const nobody = await tokenOf("nobody");
    expect(idsOf(await list(nobody))).toEqual(["default"]);
    expect(engines(await server.call("info", {}, { token: nobody }))).toBe(1);
    expectValidSuccess("retrieve", (await server.call("retrieve", { query: "x" }, { token: nobody })).body);
  });

  test.each([
    ["docs nowhere", ["docs"]],
    [
      ["notes", "default"],
      ["default", "notes"],
    ],
    [["mergers"], []],
    [[], []],
    [["nul\u0000", "\ud800", "NOT A NAME", "docs"], ["docs"]],
  ])("names to a token for %j only what it may read: %j", async (corpora, expected) => {
    const token = await tokenOf("acme", corpora);
    expect(idsOf(await list(token))).toEqual(expected);
    expect(engines(await server.call("info", {}, { token }))).toBe(expected.length);
  });

  test("has the same answer on every path, be there a corpus or not", async () => {
    const token = await tokenOf("acme", ["docs"]);
    const { text } = await list(token);
    for (const corpus of ["docs", "notes", "nowhere"]) expect((await list(token, { corpus })).text).toBe(text);
  });

  test("gives no address where none is configured", async () => {
    const inside = await serve({});
    const answer = await list(await tokenOf("acme"), {}, inside);

    expect(idsOf(answer)).toHaveLength(3);
    expect(answer.text).not.toMatch(/endpoint|http:|127\.0\.0\.1/);
    await inside.close();
  });

  test("is cut at limits.maxEnginesPerCatalog, and says so", async () => {
    const narrow = await serve({ limits: { maxEnginesPerCatalog: 2 } });
    const answer = await list(await tokenOf("acme"), {}, narrow);

    expect(idsOf(answer)).toEqual(["default", "docs"]);
    expect(answer.body?.result?._meta).toEqual({ notes: ["the first 2 by name (limits.maxEnginesPerCatalog)"] });
    await narrow.close();
  });

  test("needs the read credential, and its capability", async () => {
    const without = await serve({ capabilities: { catalog: false } });
    const [reader, adder] = [await tokenOf("acme"), await tokenOf("acme", "*", ["add"])];

    expect((await list(adder)).body?.error).toMatchObject({ code: -32012 });
    expect(engines(await server.call("info", {}, { token: adder }))).toBe(0);
    expect((await list(reader, {}, without)).body?.error).toMatchObject({ code: -32003 });
    expect((await without.call("info", {}, { token: reader })).body?.result?.capabilities).not.toHaveProperty(
      "catalog",
    );
    await without.close();
  });
});

describe("RCP §13.2, the number of engines", () => {
  test("is fixed for a session, which lives on when a corpus is made; the list has it", async () => {
    const token = await issuer.mint({ tenant: "growing", corpora: "*", credentials: CREDENTIALS });
    await make("growing", ["second"]);
    const opened = await server.call("initialize", { protocolVersion: 1, client: { name: "t" } }, { token });
    const session = String(opened.body?.result?._meta?.session);
    expect(engines(opened)).toBe(2);

    await make("growing", ["default", "a-third"]);

    expect(engines(await server.call("info", {}, { token, session }))).toBe(2);
    expect(idsOf(await list(token, { session }))).toEqual(["a-third", "default", "second"]);
    expect(engines(await server.call("info", {}, { token }))).toBe(3);
  });

  test("does not end a session at another process, and what that process offers otherwise does", async () => {
    const token = await tokenOf("acme");
    const session = await server.initialize(token);
    const alike = await serve({});
    const other = await serve({ capabilities: { feedback: false } });

    expectValidSuccess("catalog/list", (await list(token, { session }, alike)).body);
    expect((await list(token, { session }, other)).body).toMatchObject({ error: { code: -32001 } });
    // Over for all, at whichever process it is named next; info then shows what a new session would be given.
    expect((await list(token, { session }, alike)).body).toMatchObject({ error: { code: -32001 } });
    const info = await other.call("info", {}, { token, session });
    expect(info.body?.result?.capabilities).not.toHaveProperty("feedback");
    await Promise.all([alike.close(), other.close()]);
  });
});
