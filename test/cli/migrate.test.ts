import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { lockDirectory } from "../../src/db/data-directory-lock.ts";
import { embeddedOver } from "../../src/db/embedded-database.ts";
import { EmbeddedEngine } from "../../src/db/embedded-engine.ts";
import { sql } from "../../src/sql/sql.ts";
import { run, seed } from "../db/rows.ts";
import { embeddedTemplate } from "../support/embedded-template.ts";
import { runCli, startCli } from "./run-cli.ts";

// Each run of the program opens a database.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let config: string;
const embeddedDir = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-migrate-"));
  config = join(folder, "config.yaml");
  await writeFile(config, "filter:\n  fields:\n    year: int\n");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the program on the embedded database in that folder. */
const pgrcp = (directory: string, ...args: string[]) =>
  runCli([...args, "--config", config], folder, { PGRCP_DATABASE__EMBEDDED_DIR: directory, PGRCP_SERVER__PORT: "0" });

/** A data directory with a migrated database in it, without waiting for a fresh one. */
async function prepare(name: string, metas: readonly object[]): Promise<string> {
  const directory = embeddedDir(name);
  await mkdir(directory);
  const data = { dataDir: join(directory, "data"), dump: await embeddedTemplate() };
  const engine = await EmbeddedEngine.open(data, { waitMs: 10_000 });
  const { database, admin, operator } = embeddedOver(engine, async () => {});
  await seed(operator, "t");
  await admin.query(run(sql`update pgrcp.corpora set model_identity = 'test@2' where tenant_id = 't'`));
  for (const [index, meta] of metas.entries()) {
    const id = `doc${index}`;
    await admin.query(
      run(sql`insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
values ('t', 'default', ${id}, 1, 'api', 'iss', 'sub', 'untrusted', false, false, ${JSON.stringify(meta)}::json, 1)`),
    );
    await admin.query(
      run(sql`insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, embedding)
values ('t', 'default', 'shared', ${index + 1}, ${id}, 0, 1, 1, 0, 1, '[1,0]')`),
    );
  }
  await database.close();
  return directory;
}

test("migrate --plan and doctor on nothing say what would be, and make nothing", async () => {
  const directory = embeddedDir("nothing");

  const plan = await pgrcp(directory, "migrate", "--plan");
  const doctor = await pgrcp(directory, "doctor");

  expect(plan).toMatchObject({ code: 0, stdout: "would make a new embedded database and run every migration in it\n" });
  expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining("remedy: `pgrcp serve` makes it") });
  expect(existsSync(directory)).toBe(false);
});

test("a new filter field is planned, refused by doctor, added by migrate, and then nothing is left to do", async () => {
  const directory = await prepare("field", [{ year: 2020 }]);

  const plan = await pgrcp(directory, "migrate", "--plan");
  const before = await pgrcp(directory, "doctor");
  const migrate = await pgrcp(directory, "migrate");
  const after = await pgrcp(directory, "doctor");
  const again = await pgrcp(directory, "migrate", "--plan");

  expect(plan).toMatchObject({ code: 0, stdout: "would add, fill and index a column for filter field year\n" });
  expect(before).toMatchObject({
    code: 4,
    stdout: expect.stringContaining("filter field year has no column yet\n  remedy: run `pgrcp migrate`\n"),
  });
  expect(migrate).toMatchObject({
    code: 0,
    stdout: "the database is up to date\n",
    stderr: expect.stringContaining("filter field year: ready\n"),
  });
  expect(after).toMatchObject({
    code: 0,
    stdout:
      "embedding model      ok\nlanguage             ok\nTLS files            ok\ntoken issuers        ok\nport                 ok\n" +
      "versions             ok\npolicies and grants  ok\nways around them     ok\nfilter columns       ok\n",
  });
  expect(again).toMatchObject({ code: 0, stdout: "nothing to do: the database is up to date\n" });
});

test("documents whose value does not fit are listed, and the exit code says that not all is done", async () => {
  const directory = await prepare("misfit", [{ year: "MMXX" }, { year: 2020 }, { year: 1.5 }]);

  const { code, stderr } = await pgrcp(directory, "migrate");

  expect(code).toBe(5);
  expect(stderr).toContain("t/default: 2 documents have a year that does not fit its type, left empty: doc0, doc2\n");
});

test("a start fills a new field as migrate does, says how far it is, and lists what does not fit", async () => {
  const directory = await prepare("start", [{ year: "MMXX" }, { year: 2020 }]);
  const model = { provider: "openai", url: "http://127.0.0.1:9/v1", model: "test", dimension: 2 }; // the stored corpus's, never asked
  const env = {
    PGRCP_DATABASE__EMBEDDED_DIR: directory,
    PGRCP_SERVER__PORT: "0",
    PGRCP_AUTH__MODE: "none",
    PGRCP_MODELS__EMBEDDING: JSON.stringify(model),
  };
  const server = startCli(["serve", "--config", config], folder, env);

  await server.line("ready ");
  server.kill("SIGINT");
  const { code, stderr } = await server.result;

  expect(code).toBe(0);
  expect(stderr.split("\n").sort()).toEqual([
    "",
    "filling filter columns: 100 %  3 of about 3 chunks", // the corpus came with one
    "filter field year: building its index",
    "filter field year: ready",
    "t/default: 1 document has a year that does not fit its type, left empty: doc0",
  ]);
});

test("a data directory that another process has is one line, one remedy and exit code 4", async () => {
  const directory = await prepare("locked", []);
  const { pid } = process;
  const release = await lockDirectory(directory);

  const { code, stderr } = await pgrcp(directory, "migrate");

  await release();
  expect(code).toBe(4);
  expect(stderr).toMatch(
    new RegExp(
      `^error: the data directory .* is in use by process ${pid} on .*\nremedy: stop that process, or set database.embeddedDir to another folder\n$`,
    ),
  );
});

test("Postgres without migrateUrl is a matter of configuration", async () => {
  const { code, stderr } = await runCli(["migrate"], folder, { PGRCP_DATABASE__URL: "postgres://127.0.0.1:1/docs" });

  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: database\.migrateUrl is not set\n/);
});
