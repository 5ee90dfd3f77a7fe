import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { type OperatorCli, openOperatorCli } from "../support/operator-cli.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

/** `pgrcp tenants`, through the running server. */

let cli: OperatorCli;
let server: RcpServer;
beforeAll(async () => {
  cli = await openOperatorCli();
  server = await startRcpServer({
    handlers: HANDLERS,
    database: cli.db.database,
    corpora: new CachedCorpusStore(cli.db.database),
    embedding: testEmbeddingModel(),
  });
});
afterAll(async () => {
  await server.close();
  await cli.close();
});

const quotasOf = async (tenant: string) =>
  (await cli.pgrcp("tenants", "list", "--json")).stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    .find((row) => row.tenant === tenant)?.ownQuotas;

test("a tenant's quotas are set, listed and taken back", async () => {
  await cli.pgrcp("tenants", "create", "acme");
  expect(await quotasOf("acme")).toBeNull();

  const set = await cli.pgrcp("tenants", "quota", "acme", "--documents", "5");
  expect([set.code, set.stdout]).toEqual([0, "documents 5, text bytes any\n"]);
  expect(await quotasOf("acme")).toEqual({ documents: 5, textBytes: null });
  expect((await cli.pgrcp("tenants", "list")).stdout).toMatch(
    /^tenant {2}corpora {2}documents {2}text bytes {2}chunks {2}quotas .*\nacme +0 +0 +0 +0 {2}documents 5, text bytes any +20/,
  );
  expect((await cli.pgrcp("tenants", "quota", "acme", "--none")).stdout).toBe("documents any, text bytes any\n");
  expect(await quotasOf("acme")).toEqual({ documents: null, textBytes: null });
  expect((await cli.pgrcp("tenants", "quota", "acme", "--configured")).stdout).toBe("as configured\n");
  expect(await quotasOf("acme")).toBeNull();
}, 120_000);

test("a quota needs a tenant that is there and one thing to set", async () => {
  await cli.pgrcp("tenants", "create", "shop");
  const unknown = await cli.pgrcp("tenants", "quota", "shpo", "--none");
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringMatching(/^error: there is no such tenant\n/)]);
  const nothing = await cli.pgrcp("tenants", "quota", "shop");
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringMatching(/^error: no quota is named\n/)]);
  expect((await cli.pgrcp("tenants", "quota", "shop", "--none", "--documents", "1")).code).toBe(2);
  expect((await cli.pgrcp("tenants", "quota", "shop", "--documents", "-1")).code).toBe(2);
}, 120_000);

test("import adds what there is room for, and says of the rest which quota is full", async () => {
  await cli.pgrcp("tenants", "create", "import");
  await cli.pgrcp("tenants", "quota", "import", "--documents", "3");
  const lines = ["a", "b", "c", "d"].map((id) => JSON.stringify({ id, text: `text ${id}` }));
  await writeFile(join(cli.folder, "in.jsonl"), `${lines.join("\n")}\n`);
  await writeFile(join(cli.folder, "token"), await server.issuer.mint({ tenant: "import", credentials: ["add"] }));

  const url = `http://127.0.0.1:${server.port}/rcp`;
  const { code, stdout, stderr } = await cli.pgrcp("import", "in.jsonl", "--url", url, "--token-file", "token");

  expect([code, stdout]).toEqual([
    5,
    expect.stringMatching(/^3 documents added as 3 chunks, 0 unchanged .* 1 left out/),
  ]);
  expect(stderr).toContain("d: the tenant may keep 3 documents (quotas.documents); there is room for 0 more (-32013)");
}, 120_000);
