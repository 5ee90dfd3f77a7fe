import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlSocket, startControlSocket } from "../../src/cli/control-socket.ts";
import { configSchema } from "../../src/config/config.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { runCli } from "./run-cli.ts";

/** `pgrcp sources` and `pgrcp purge`, through the running server. */

let db: TestDatabase;
let folder: string;
let socket: ControlSocket;
beforeAll(async () => {
  db = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "pgrcp-sources-"));
  const config = configSchema.parse({ database: { embeddedDir: folder } });
  socket = await startControlSocket(config, db.operator, { embedding: testEmbeddingModel() });
});
afterAll(async () => {
  await socket.close();
  await db.close();
  await rm(folder, { recursive: true });
});

const pgrcp = (...args: readonly string[]) => runCli(args, folder, { PGRCP_DATABASE__EMBEDDEDDIR: folder });

test("a source is listed, revoked and restored, and a document of it purged", async () => {
  const tenant = freshTenant();
  const good = callerOf(db.database, tenant, { principal: { source: "good" } });
  const bad = callerOf(db.database, tenant, { principal: { source: "bad" } });
  await good.add([{ id: "a", text: "amber" }]);
  await bad.add(["x", "y"].map((id) => ({ id, text: `amber ${id}` })));
  const ids = () => good.ids({ query: "amber", mode: "sparse" });

  const listed = await pgrcp("sources", "list", tenant);
  expect(listed.stdout).toMatch(/^source {2}issuers .*\nbad +1 +1 +2 +2 {2}20.*\ngood +1 +1 +1 +1 {2}20/);

  const revoked = await pgrcp("sources", "revoke", tenant, "bad", "--json");
  expect([revoked.code, revoked.stdout]).toEqual([0, '{"corpus":"default","documents":2,"chunks":2,"versions":1}\n']);
  expect(await ids()).toEqual(["a"]);
  const [row] = (await pgrcp("sources", "list", tenant, "--corpus", "default", "--json")).stdout.split("\n");
  expect(JSON.parse(row ?? "")).toMatchObject({ source: "bad", documents: 2, revokedAt: expect.any(String) });

  const again = await pgrcp("sources", "revoke", tenant, "bad");
  expect([again.code, again.stderr]).toEqual([0, "there was nothing left to do\n"]);

  const restored = await pgrcp("sources", "restore", tenant, "bad");
  expect(restored.stdout).toMatch(/^corpus {3}documents {2}chunks {2}versions withdrawn\ndefault +2 +2 +1\n$/);
  expect((await ids()).toSorted()).toEqual(["a", "x", "y"]);

  const purged = await pgrcp("purge", tenant, "default", "x", "z");
  expect([purged.code, purged.stdout]).toEqual([
    5,
    expect.stringMatching(/^documents {2}chunks {2}versions withdrawn\n +1 +1 +1\n$/),
  ]);
  expect(purged.stderr).toMatch(/^not there: z\nerror: the corpus has nothing of 1 of the ids\nremedy: /);
  expect((await ids()).toSorted()).toEqual(["a", "y"]);

  const misspelt = await pgrcp("sources", "revoke", tenant, "bda");
  expect([misspelt.code, misspelt.stderr]).toEqual([
    2,
    "error: the tenant has nothing by such a source\nremedy: pgrcp sources list shows those there are\n",
  ]);
}, 120_000);
