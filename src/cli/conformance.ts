import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { openBackends, startServer } from "../app.ts";
import { type Close, withClosing } from "../closing.ts";
import { configSchema } from "../config/config.ts";
import { type Report, reportOf, resultLine, summary } from "../conformance/report.ts";
import { ruleTable } from "../conformance/rule-table.ts";
import { isWithin, runChecks } from "../conformance/run-checks.ts";
import { SECTIONS } from "../conformance/sections.ts";
import { type Credential, ServerUnderTest, type Target } from "../conformance/server-under-test.ts";
import type { Observation } from "../observability/observation.ts";
import { readToken, wholeNumber } from "./client-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

/** `pgrcp conformance`: every rule of RCP/1 that can be tried from outside, on this or any other server. */

interface ConformanceOptions {
  readonly url?: string;
  readonly stdio?: boolean;
  readonly tokenFile?: string;
  readonly addTokenFile?: string;
  readonly deleteTokenFile?: string;
  readonly caFile?: string;
  readonly section?: readonly string[];
  readonly timeoutMs: number;
  readonly json?: boolean;
  readonly table?: boolean;
}

const DEFAULT_TIMEOUT_MS = 20_000;

export function registerConformance(program: Command): void {
  program
    .command("conformance")
    .description(
      "check any RCP server against the rules of RCP/1; without a server, pgrcp itself on a throw-away database",
    )
    .argument("[command...]", "with --stdio: the server's program and its arguments, after --")
    .option("--url <url>", "base URL of a server over HTTP, such as http://127.0.0.1:8787/rcp")
    .option("--stdio", "start the server as a child process")
    .option("--token-file <file>", "bearer token for reading, and for whatever has no token of its own")
    .option("--add-token-file <file>", "bearer token for index/add")
    .option("--delete-token-file <file>", "bearer token for index/delete")
    .option("--ca-file <file>", "certificates in PEM to trust instead of the system's")
    .option("--section <number...>", "only these sections, such as 4.7 or 11")
    .option("--timeout-ms <n>", "how long one answer may take", wholeNumber(1, 600_000), DEFAULT_TIMEOUT_MS)
    .option("--json", "print the report as JSON")
    .option("--table", "print the rules and their checks as Markdown, and run nothing")
    .action(conformance);
}

async function conformance(command: readonly string[], options: ConformanceOptions): Promise<void> {
  if (options.table === true) {
    process.stdout.write(ruleTable(SECTIONS));
    return;
  }
  checkSections(options.section ?? []);
  await withClosing(async (closeLater) => {
    const target = (await targetOf(command, options)) ?? (await ownServer(closeLater));
    const report = await run(target, options);
    process.stdout.write(
      options.json === true ? `${JSON.stringify(report, undefined, 2)}\n` : `\n${summary(report)}\n`,
    );
    if (report.totals.failed > 0) process.exitCode = ExitCode.partial;
  });
}

/** A number that is mistyped would run nothing and find nothing wrong. */
function checkSections(numbers: readonly string[]): void {
  if (numbers.every((number) => SECTIONS.some(({ section }) => isWithin(section, number)))) return;
  throw usage("--section names a section that has no rules", "pass numbers such as 4.7 or 11; --table lists them all");
}

async function run(target: Target, { section, timeoutMs, json }: ConformanceOptions): Promise<Report> {
  const server = new ServerUnderTest(target, { timeoutMs });
  try {
    const identity = await server.identity().catch((cause: unknown) => {
      const remedy = "name a server that runs: --url <base>, or --stdio -- <program>";
      throw new CommandFailure(ExitCode.connection, "the server does not answer initialize", remedy, { cause });
    });
    const results = await runChecks(SECTIONS, server, {
      ...(section && { only: section }),
      ...(json !== true && { onResult: (result) => process.stdout.write(`${resultLine(result)}\n`) }),
    });
    return reportOf(target.kind, identity, results);
  } finally {
    await server.close();
  }
}

/** The server that the command line names, if it does. */
async function targetOf(command: readonly string[], options: ConformanceOptions): Promise<Target | undefined> {
  const { url, stdio } = options;
  const remedy = "pass --url <base>, or --stdio -- <program> <arguments…>, or neither";
  if (url !== undefined && stdio === true) throw usage("--url and --stdio do not go together", remedy);
  if (stdio === true && command.length === 0) throw usage("--stdio needs a program to start", remedy);
  if (stdio !== true && command.length > 0) throw usage("a program is started with --stdio only", remedy);
  if (stdio === true) return { kind: "stdio", command };
  if (url === undefined) return undefined;
  if (!URL.canParse(url)) throw usage("--url is no URL", "pass one such as http://127.0.0.1:8787/rcp");
  const ca = options.caFile === undefined ? undefined : await readCertificates(options.caFile);
  return { kind: "http", url, ...(ca !== undefined && { ca }), tokens: await tokensOf(options) };
}

async function tokensOf(options: ConformanceOptions): Promise<Partial<Record<Credential, string>>> {
  const files = { read: options.tokenFile, add: options.addTokenFile, delete: options.deleteTokenFile };
  const entries = Object.entries(files).map(async ([credential, own]) => {
    const file = own ?? options.tokenFile;
    return file === undefined ? [] : [[credential, await readToken(file, true)]];
  });
  return Object.fromEntries((await Promise.all(entries)).flat());
}

async function readCertificates(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause: unknown) => {
    throw usage(`the file ${file} cannot be read`, "pass --ca-file with certificates in PEM", cause);
  });
}

const usage = (message: string, remedy: string, cause?: unknown) =>
  new CommandFailure(ExitCode.usage, message, remedy, { cause });

/** One field of every type, so that every filter rule can be tried. */
const FIELDS = { lang: "keyword", title: "text", year: "int", rating: "float", active: "bool", published: "date" };

/** pgrcp with all that needs nobody else, on a database that is gone afterwards. */
async function ownServer(closeLater: (close: Close) => void): Promise<Target> {
  const directory = await mkdtemp(join(tmpdir(), "pgrcp-conformance-"));
  closeLater(() => rm(directory, { recursive: true, force: true }));
  const config = configSchema.parse({
    server: { port: 0 },
    database: { embeddedDir: directory },
    filter: { fields: FIELDS },
    // One caller sends everything.
    rateLimit: { address: { max: 1_000_000 }, principal: { max: 1_000_000 } },
  });
  const backends = await openBackends(config, tellFailures);
  closeLater(backends.close);
  const { url, firstRun, close } = await startServer(backends);
  closeLater(close);
  if (firstRun === undefined) throw new Error("a server without issuers mints its own tokens");
  const token = (await readFile(firstRun.tokenFiles.all, "utf8")).trim();
  return { kind: "http", url, tokens: { read: token, add: token, delete: token } };
}

function tellFailures(observation: Observation): void {
  if (observation.kind !== "internal-error") return;
  const { where, error } = observation;
  process.stderr.write(`${where}: ${error instanceof Error ? error.stack : String(error)}\n`);
}
