import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlSocket, startControlSocket } from "../../src/cli/control-socket.ts";
import { configSchema } from "../../src/config/config.ts";
import { RefusalLog } from "../../src/db/refusal-log.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { runCli } from "./run-cli.ts";

/** `pgrcp audit`, through the running server. */

let db: TestDatabase;
let folder: string;
let socket: ControlSocket;
beforeAll(async () => {
  db = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "pgrcp-audit-"));
  const config = configSchema.parse({ database: { embeddedDir: folder } });
  socket = await startControlSocket(config, db.operator, { embedding: testEmbeddingModel() });
});
afterAll(async () => {
  await socket.close();
  await db.close();
  await rm(folder, { recursive: true });
});

const pgrcp = (...args: readonly string[]) => runCli(args, folder, { PGRCP_DATABASE__EMBEDDEDDIR: folder });

test("what is on record of a tenant is listed for people and for scripts, since when it is asked for", async () => {
  const tenantId = freshTenant();
  await callerOf(db.database, tenantId).add([{ id: "a", text: "amber" }]);
  const refusals = new RefusalLog(db.database, () => {});
  const nobody = { issuer: "i", subject: "mallory \u001b[2J", client: "", tokenId: undefined, detail: undefined };
  refusals.add({ tenantId, ...nobody, method: "index/delete", corpus: "default" });
  await refusals.close();

  const listed = await pgrcp("audit", tenantId);
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(/^at +action +corpus +version +count +method +subject /);
  expect(listed.stdout).toMatch(/\n20\S+Z +add +default +1 +1 /);
  expect(listed.stdout).toMatch(/\n20\S+Z +refuse +default +1 +index\/delete +mallory \\u\{1b\}\[2J /);

  const lines = (await pgrcp("audit", tenantId, "--since", "1d", "--json")).stdout.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).action)).toEqual(["add", "refuse"]);
  expect((await pgrcp("audit", tenantId, "--since", "2999-01-01", "--json")).stdout).toBe("");

  const misspelt = await pgrcp("audit", "nobody");
  expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringMatching(/^error: there is no such tenant\n/)]);
  const unclear = await pgrcp("audit", tenantId, "--since", "yesterday");
  expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining("days back such as 30d")]);
}, 120_000);
