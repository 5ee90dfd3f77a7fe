import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedOver } from "../../src/db/embedded-database.ts";
import { EmbeddedEngine } from "../../src/db/embedded-engine.ts";
import { runCli } from "../cli/run-cli.ts";
import { embeddedTemplate } from "../support/embedded-template.ts";

/** What somebody did to a database by hand, the row of `pgrcp doctor` that finds it, and the start of its line. */
const FAULTS = [
  [
    "alter table pgrcp.documents disable row level security",
    "policies and grants",
    "row level security is not enabled",
  ],
  [
    "grant select on pgrcp.chunks_shared to pgrcp_reader",
    "policies and grants",
    "somebody has a grant on the partition",
  ],
  [
    "create policy wide on pgrcp.corpora for select to pgrcp_reader using (true)",
    "policies and grants",
    "not expected: pgrcp.corpora policy wide",
  ],
  [
    "create function public.peek() returns int language sql security definer as 'select 1'",
    "ways around them",
    "pgrcp_adder, pgrcp_deleter, pgrcp_reader may call public.peek()",
  ],
  [
    "create view public.titles as select title from pgrcp.documents; grant select on public.titles to pgrcp_reader",
    "ways around them",
    "the view public.titles reads tenants' rows",
  ],
  [
    "alter function pg_catalog.arrayoverlap leakproof",
    "ways around them",
    "pg_catalog.arrayoverlap(anyarray, anyarray) is",
  ],
] as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-faults-"));
  const directory = join(folder, ".pgrcp");
  await mkdir(directory);
  const data = { dataDir: join(directory, "data"), dump: await embeddedTemplate() };
  const { database, admin } = embeddedOver(await EmbeddedEngine.open(data, { waitMs: 10_000 }), async () => {});
  for (const [damage] of FAULTS) await admin.transaction((transaction) => transaction.script(damage));
  await database.close();
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

test("doctor finds every fault that was made by hand, each with the way to mend it, and a start is refused", async () => {
  const doctor = await runCli(["doctor"], folder, { PGRCP_SERVER__PORT: "0" });

  expect(doctor.code).toBe(4);
  for (const [, check, line] of FAULTS) {
    const row = doctor.stdout.split(/^(?=\S)/m).find((each) => each.startsWith(check)) ?? "";
    const lines = row.split("\n");
    const at = lines.findIndex((each) => each.trim().startsWith(line));
    expect([line, row.includes("error\n"), at > 0]).toEqual([line, true, true]);
    expect(lines[at + 1]).toMatch(/^ {2}remedy: \S/);
  }
  const serve = await runCli(["serve"], folder, { PGRCP_SERVER__PORT: "0" });
  expect([serve.code, serve.stdout]).toEqual([4, ""]);
  expect(serve.stderr).toMatch(/^error: .*\nremedy: .*\n$/m);
}, 120_000);
