import { debuglog } from "node:util";
import { Command, CommanderError } from "commander";
import { tellError } from "../observability/tell-error.ts";
import { programVersion } from "../protocol/program-version.ts";
import { CommandFailure, ExitCode, formatFailure, toFailure } from "./exit.ts";

/** The program `pgrcp`: picks a subcommand, loads that file alone, and turns whatever is thrown into two lines and an exit code. */

type Register = (program: Command) => void;

interface Entry {
  readonly name: string;
  /** As the command describes itself; repeated here so that `--help` loads nothing. */
  readonly summary: string;
  readonly load: () => Promise<Register>;
}

export const ENTRIES: readonly Entry[] = [
  {
    name: "serve",
    summary: "start the server",
    load: async () => (await import("./serve.ts")).registerServe,
  },
  {
    name: "migrate",
    summary: "bring the database schema up to this version",
    load: async () => (await import("./migrate.ts")).registerMigrate,
  },
  {
    name: "check-config",
    summary: "print the effective configuration without secrets",
    load: async () => (await import("./check-config.ts")).registerCheckConfig,
  },
  {
    name: "doctor",
    summary: "check what the server needs and say what is missing",
    load: async () => (await import("./doctor.ts")).registerDoctor,
  },
  {
    name: "token",
    summary: "make keys, mint tokens and look into them",
    load: async () => (await import("./token.ts")).registerToken,
  },
  {
    name: "tenants",
    summary: "create and list tenants, and set their quotas",
    load: async () => (await import("./tenants.ts")).registerTenants,
  },
  {
    name: "corpora",
    summary: "create and list corpora, and set their language",
    load: async () => (await import("./corpora.ts")).registerCorpora,
  },
  {
    name: "documents",
    summary: "list, show, export, quarantine and release documents",
    load: async () => (await import("./documents.ts")).registerDocuments,
  },
  {
    name: "sources",
    summary: "list, revoke and restore what documents come from",
    load: async () => (await import("./sources.ts")).registerSources,
  },
  {
    name: "purge",
    summary: "erase documents at once and for good, with every version of them",
    load: async () => (await import("./purge.ts")).registerPurge,
  },
  {
    name: "feedback",
    summary: "list what callers say of hits, and act on it",
    load: async () => (await import("./feedback.ts")).registerFeedback,
  },
  {
    name: "audit",
    summary: "list who wrote, was refused, revoked and purged",
    load: async () => (await import("./audit.ts")).registerAudit,
  },
  {
    name: "collect",
    summary: "delete for good what is past its time: old versions, expired sessions, keys and feedback",
    load: async () => (await import("./collect.ts")).registerCollect,
  },
  {
    name: "explain",
    summary: "show how a dense question to a corpus is answered: the path, why, the SQL and its plan",
    load: async () => (await import("./explain.ts")).registerExplain,
  },
  {
    name: "maintain",
    summary:
      "give large corpora a partition and a graph of their own, take them from small ones, and compact the postings",
    load: async () => (await import("./maintain.ts")).registerMaintain,
  },
  {
    name: "import",
    summary: "add a folder or a file of documents through a running server",
    load: async () => (await import("./import.ts")).registerImport,
  },
  {
    name: "retrieve",
    summary: "ask a running server a question and print the passages",
    load: async () => (await import("./retrieve.ts")).registerRetrieve,
  },
  {
    name: "connect",
    summary: "be an RCP server on stdio or loopback http that forwards to a server over https",
    load: async () => (await import("./connect.ts")).registerConnect,
  },
  {
    name: "mcp",
    summary: "be an MCP server on stdio that forwards to a server over https",
    load: async () => (await import("./mcp.ts")).registerMcp,
  },
  {
    name: "eval",
    summary: "measure retrieval quality on a BEIR-style folder",
    load: async () => (await import("./eval.ts")).registerEval,
  },
  {
    name: "conformance",
    summary: "check any RCP server against the rules of RCP/1; without a server, pgrcp itself on a throw-away database",
    load: async () => (await import("./conformance.ts")).registerConformance,
  },
  {
    name: "hijack-test",
    summary: "try to make a server answer with another tenant's data, and print what each trick came to",
    load: async () => (await import("./hijack-test.ts")).registerHijackTest,
  },
];

const EXIT_CODE_HELP = `
Exit codes: 0 done, 1 unexpected failure, 2 usage or configuration, 3 server out of reach or token refused,
4 database, 5 partly done, 6 this machine cannot run it, 130 interrupted.`;

/** The program with the wanted subcommand loaded, or with all of them named when none is. */
async function build(args: readonly string[]): Promise<Command> {
  const program = new Command("pgrcp")
    .description("A multi-tenant retrieval server that speaks the Retrieval Context Protocol (RCP/1)")
    .version(programVersion())
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text) })
    .showHelpAfterError("remedy: add --help to see what is accepted")
    .addHelpText("after", EXIT_CODE_HELP);
  const [first, second] = args.filter((arg) => !arg.startsWith("-"));
  const wanted = ENTRIES.find((entry) => entry.name === (first === "help" ? second : first));
  if (wanted !== undefined) (await wanted.load())(program);
  else for (const { name, summary } of ENTRIES) program.command(name).description(summary);
  return program;
}

/** Runs one command line and sets the process's exit code; it does not end the process, so that output is flushed. */
export async function main(args: readonly string[]): Promise<void> {
  process.stdout.on("error", endWithoutOutput);
  try {
    const program = await build(args);
    if (args.length === 0) program.help({ error: true });
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** A reader that has seen enough (`| head`) is not a failure; output that could not be kept is one, however far the command came. */
function endWithoutOutput(error: NodeJS.ErrnoException): never {
  if (error.code === "EPIPE") process.exit(ExitCode.ok);
  const message = `standard output cannot be written (${error.code ?? error.message})`;
  const remedy = "make room where it goes, or send it elsewhere";
  process.exit(report(new CommandFailure(ExitCode.environment, message, remedy, { cause: error })));
}

function report(error: unknown): number {
  // commander has already printed what it has to say
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
  const failure = toFailure(error);
  process.stderr.write(formatFailure(failure));
  debuglog("pgrcp")("%o", tellError(failure.cause ?? failure));
  return failure.exitCode;
}
