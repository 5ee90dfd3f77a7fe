import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type RunningServer, startServer } from "../../src/app.ts";
import { configSchema } from "../../src/config/config.ts";
import type { Report } from "../../src/conformance/report.ts";
import { type CheckResult, runChecks } from "../../src/conformance/run-checks.ts";
import { SECTIONS } from "../../src/conformance/sections.ts";
import { ServerUnderTest, type Target } from "../../src/conformance/server-under-test.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import { offerOf } from "../../src/methods/offer.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { runCli } from "../cli/run-cli.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { testIssuer } from "../support/test-issuer.ts";
import { testGenerator, testReranker } from "../support/test-models.ts";

/** The whole suite on pgrcp: every capability that it can have, sessions required, over HTTP and through `pgrcp connect`. */

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));
const FIELDS = {
  lang: "keyword",
  title: "text",
  year: "int",
  rating: "float",
  active: "bool",
  published: "date",
  tags: "keyword[]",
} as const;

let folder: string;
let opened: TestDatabase;
let server: RunningServer;
let token: string;
let tokenFile: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-conformance-test-"));
  const issuer = await testIssuer();
  const fields = filterFields(FIELDS);
  opened = await openTestDatabase({ fields });
  const config = configSchema.parse({
    server: { port: 0 },
    database: opened.config.database,
    auth: { combinedTokens: true, issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }] },
    rateLimit: { address: { max: 1_000_000 }, principal: { max: 1_000_000 } },
    sessions: { mode: "required" },
    filter: { fields: FIELDS },
  });
  const services = {
    config,
    offer: offerOf(config),
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
    embedding: testEmbeddingModel(),
    cursorKeys: new CursorKeys(opened.database),
    reranker: testReranker(),
    generator: testGenerator(),
    fetcher: undefined,
    classifier: undefined,
    observe: () => {},
  };
  server = await startServer({ services, operator: undefined, close: async () => {} });
  token = await issuer.mint({ tenant: "conformance", credentials: ["read", "add", "delete"] });
  tokenFile = join(folder, "all.token");
  await writeFile(tokenFile, token);
});
afterAll(async () => {
  await server?.close();
  await opened?.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(target: Target): Promise<readonly CheckResult[]> {
  const tested = new ServerUnderTest(target, { timeoutMs: 20_000 });
  try {
    return await runChecks(SECTIONS, tested);
  } finally {
    await tested.close();
  }
}

const unheld = (results: readonly CheckResult[]) =>
  results
    .filter(({ status }) => status === "failed" || status === "warned")
    .map(({ section, check, reason }) => `${section} ${check}: ${reason}`);

/** Capabilities that checks were skipped for, besides those that pgrcp need not have. */
const lacking = (results: readonly CheckResult[]) =>
  results
    .flatMap(({ reason = "" }) => /^(\w+) is not advertised$/.exec(reason)?.[1] ?? [])
    .filter((key) => !MAY_LACK.includes(key));
const MAY_LACK = ["sparseEmbed", "multiVector", "graph", "memory"];

describe("pgrcp with all that it can have", () => {
  test("holds every rule over HTTP", async () => {
    const results = await run({ kind: "http", url: server.url, tokens: { read: token, add: token, delete: token } });
    expect(unheld(results)).toEqual([]);
    expect(lacking(results)).toEqual([]);
  });

  test("holds every rule over stdio, through pgrcp connect", async () => {
    const command = [process.execPath, LAUNCHER, "connect", "--url", server.url, "--token-file", tokenFile];
    const results = await run({ kind: "stdio", command });
    expect(unheld(results)).toEqual([]);
    expect(lacking(results)).toEqual([]);
  });
});

describe("pgrcp conformance", () => {
  test("without a server runs pgrcp itself, reports as JSON and ends with 0", async () => {
    const { code, stdout, stderr } = await runCli(["conformance", "--json"], folder);
    const report: Report = JSON.parse(stdout);
    expect(unheld(report.results)).toEqual([]);
    expect([code, stderr, report.totals.failed, report.transport]).toEqual([0, "", 0, "http"]);
    expect(report.server).toMatchObject({ name: "pgrcp" });
    const { passed, failed, warned, skipped } = report.totals;
    expect(passed + failed + warned + skipped).toBe(report.results.length);
  });

  test("against a named server runs only the sections that are asked for, and prints counts", async () => {
    const args = ["conformance", "--url", server.url, "--token-file", tokenFile, "--section", "4.7", "11"];
    const { code, stdout } = await runCli(args, folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^PASSED {2}§4\.7 ids come back with their type and value/m);
    expect(stdout).toMatch(/^section {4}passed {2}failed {2}warned skipped\n§4\.7 .*\n§11 .*\nall .*\n$/m);
  });

  test("ends with 5 and says what was seen when a rule is broken", async () => {
    const args = ["conformance", "--timeout-ms", "3000", "--section", "4.7", "--stdio", "--"];
    const tiny = fileURLToPath(new URL("tiny-stdio.ts", import.meta.url));
    const { code, stdout } = await runCli([...args, process.execPath, tiny, "rounds ids"], folder);
    expect(code).toBe(5);
    expect(stdout).toContain(
      'id 9007199254740993 was answered as "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":9007199254740992,',
    );
  });

  test("ends with 3 when nobody answers", async () => {
    const nobody = await runCli(["conformance", "--url", "http://127.0.0.1:9/rcp"], folder);
    expect(nobody.code).toBe(3);
    expect(nobody.stderr).toMatch(/^error: the server does not answer initialize\nremedy: /);
  });

  test.each([
    [["--url", "http://127.0.0.1:9/rcp", "--stdio", "--", "true"], "--url and --stdio do not go together"],
    [["--stdio"], "--stdio needs a program to start"],
    [["true"], "a program is started with --stdio only"],
    [["--url", "nowhere"], "--url is no URL"],
    [["--section", "4.7", "4.77"], "--section names a section that has no rules"],
    [["--url", "http://127.0.0.1:9/rcp", "--token-file", "none"], "the token file none cannot be read"],
  ])("ends with 2 for %j: %s", async (options, message) => {
    const { code, stdout, stderr } = await runCli(["conformance", ...options], folder);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`error: ${message}\nremedy: `);
  });
});
