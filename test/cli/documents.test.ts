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

/** `pgrcp documents quarantine` and `release`, through the running server. */

let db: TestDatabase;
let folder: string;
let socket: ControlSocket;
beforeAll(async () => {
  db = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "pgrcp-documents-"));
  const config = configSchema.parse({ database: { embeddedDir: folder } });
  socket = await startControlSocket(config, db.operator, { embedding: testEmbeddingModel() });
});
afterAll(async () => {
  await socket.close();
  await db.close();
  await rm(folder, { recursive: true });
});

const pgrcp = (...args: readonly string[]) => runCli(args, folder, { PGRCP_DATABASE__EMBEDDEDDIR: folder });

test("documents are quarantined, listed and released by id, with the running server's model", async () => {
  const tenant = freshTenant();
  const caller = callerOf(db.database, tenant);
  await caller.add(["a", "b"].map((id) => ({ id, text: `amber ${id}` })));
  const ids = async () => (await caller.ids({ query: "amber" })).toSorted();

  const taken = await pgrcp("documents", "quarantine", tenant, "default", "a", "z");
  expect([taken.code, taken.stdout]).toEqual([
    5,
    expect.stringMatching(/^documents +chunks +versions withdrawn\n *1 +1 +1\n$/),
  ]);
  expect(taken.stderr).toMatch(/^not there: z\nerror: nothing that answers has 1 of the ids\nremedy: .*list/);
  expect(await ids()).toEqual(["b"]);
  const listed = await pgrcp("documents", "list", tenant, "--quarantined", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject({ id: "a", quarantined: true, chunks: 0 });

  const released = await pgrcp("documents", "release", tenant, "default", "a", "--json");
  expect([released.code, released.stdout]).toEqual([0, '{"documents":1,"chunks":1,"versions":0,"unknown":[]}\n']);
  expect(await ids()).toEqual(["a", "b"]);
  const again = await pgrcp("documents", "release", tenant, "default", "a");
  expect(again.code).toBe(5);
  expect(again.stderr).toMatch(
    /^not there: a\nerror: no quarantined document has 1 of the ids\nremedy: .*--quarantined/,
  );
});
