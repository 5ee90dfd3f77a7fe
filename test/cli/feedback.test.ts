import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlSocket, startControlSocket } from "../../src/cli/control-socket.ts";
import { configSchema } from "../../src/config/config.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { runCli } from "./run-cli.ts";

/** `pgrcp feedback quarantine`, through the running server. */

let db: TestDatabase;
let folder: string;
let socket: ControlSocket;
beforeAll(async () => {
  db = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "pgrcp-feedback-"));
  const config = configSchema.parse({ database: { embeddedDir: folder }, feedback: { quarantineAfter: 2 } });
  socket = await startControlSocket(config, db.operator, { embedding: testEmbeddingModel() });
});
afterAll(async () => {
  await socket.close();
  await db.close();
  await rm(folder, { recursive: true });
});

const pgrcp = (...args: readonly string[]) => runCli(args, folder, { PGRCP_DATABASE__EMBEDDEDDIR: folder });

test("a look shows what would be quarantined and changes nothing; without --dry-run it is gone from answers", async () => {
  const tenant = freshTenant();
  const caller = callerOf(db.database, tenant);
  await caller.add(["a", "b"].map((id) => ({ id, text: `amber ${id}` })));
  for (const subject of ["one", "two"])
    await db.operator.write((transaction) =>
      transaction.query(
        compile(
          sql`insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, hit_id, poison_suspected, expires_at)
values (${tenant}, gen_random_uuid(), 1, 'default', 'i', ${subject}, 'c', 'b', true, now() + interval '1 day')`,
          noRows,
        ),
      ),
    );
  const ids = async () => (await caller.ids({ query: "amber", mode: "sparse" })).toSorted();
  const table = new RegExp(`^tenant +corpus +document +callers\\n${tenant} +default +b +2\\n$`);

  const look = await pgrcp("feedback", "quarantine", tenant, "--dry-run");
  expect([look.code, look.stdout, look.stderr]).toEqual([
    0,
    expect.stringMatching(table),
    "would be quarantined: 1; nothing was changed\n",
  ]);
  expect(await ids()).toEqual(["a", "b"]);

  const done = await pgrcp("feedback", "quarantine", tenant);
  expect([done.code, done.stdout, done.stderr]).toEqual([
    0,
    expect.stringMatching(table),
    "quarantined: 1; chunks: 1; versions withdrawn: 1\n",
  ]);
  expect(await ids()).toEqual(["a"]);
}, 120_000);
