import { type Command, Option } from "commander";
import { RcpCallError, type RcpClient, RcpTransportError } from "../client/index.ts";
import {
  addServerOptions,
  callFailure,
  connect,
  endpointOf,
  type ServerOptions,
  wholeNumber,
} from "./client-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { type ImportCounts, runImport, TooManyProblems } from "./import-run.ts";
import { openSource } from "./import-source.ts";
import { bearerIdentity, openState } from "./import-state.ts";
import { createProgress } from "./progress.ts";
import { stopOnSignal } from "./stop-signal.ts";
import { visibleLine } from "./terminal-text.ts";

/** `pgrcp import`: adds documents through a running server and can be run again until all are there. */

const TOKEN_FILE = ".pgrcp/dev/add.token";
/** Retries of one request: about half a minute, in which a server can be started again. */
const PATIENCE = 10;
/** Longer than server.writeTimeoutMs by default, so that the server's own answer comes first. */
const REQUEST_TIMEOUT_MS = 330_000;
const STATE_FOLDER = ".pgrcp/imports";

interface ImportCommandOptions extends ServerOptions {
  readonly batch: number;
  readonly batchBytes: number;
  readonly concurrency: number;
  readonly maxProblems: number;
  readonly restart?: boolean;
}

export function registerImport(program: Command): void {
  const command = program
    .command("import")
    .description("add a folder or a file of documents through a running server")
    .argument("<path>", "a Markdown, text or HTML file, a folder of those, or a JSONL file of {id, title, text, meta}");
  addServerOptions(command, TOKEN_FILE)
    .addOption(new Option("--batch <n>", "documents in a request").default(50).argParser(wholeNumber(1, 1000)))
    .addOption(
      new Option("--batch-bytes <n>", "bytes of documents in a request")
        .default(1_000_000)
        .argParser(wholeNumber(1, 1_000_000_000)),
    )
    .addOption(new Option("--concurrency <n>", "requests at a time").default(2).argParser(wholeNumber(1, 64)))
    .addOption(
      new Option("--max-problems <n>", "stop when so many documents were left out")
        .default(1000)
        .argParser(wholeNumber(1, 1_000_000_000)),
    )
    .option("--restart", "send everything again, whatever earlier runs got acknowledged")
    .addHelpText(
      "after",
      `
Running the same command again sends only what is new or changed. A document's id is its id in JSONL (or a hash of its
content when it has none), its path below the folder, or the name of the single file. In JSONL, title becomes meta.title;
in Markdown, front matter becomes meta. Documents that are left out are listed, and the exit code is then 5.`,
    )
    .action(importDocuments);
}

async function importDocuments(path: string, options: ImportCommandOptions): Promise<void> {
  const source = await openSource(path);
  const progress = createProgress("importing");
  const { client, token } = await connect(options, TOKEN_FILE, {
    retry: { retries: PATIENCE },
    timeoutMs: REQUEST_TIMEOUT_MS,
    onRetry: ({ delayMs, error }) =>
      progress.line(`waiting ${(delayMs / 1000).toFixed(1)} s: ${visibleLine(error.message)}`),
  });
  await checkWritable(client, options);
  const key = { input: source.path, endpoint: endpointOf(options), bearer: bearerIdentity(token) };
  const state = await openState(STATE_FOLDER, key, options.restart === true);
  if (state.known > 0) progress.line(`${state.known} documents were acknowledged before (--restart sends them again)`);

  // The first Ctrl-C lets the requests under way finish.
  const stop = stopOnSignal();
  void stop.requested.then(() => progress.line("stopping after the requests under way; Ctrl-C again leaves now"));
  const startedAt = performance.now();
  let last: Readonly<ImportCounts> = { added: 0, chunks: 0, skipped: 0, problems: 0 };
  const seconds = () => (performance.now() - startedAt) / 1000;
  const limits = { ...options, maxBatchBytes: options.batchBytes };
  const events = {
    problem: (where: string, reason: string) => progress.line(`left out: ${visibleLine(`${where}: ${reason}`)}`),
    progress(fraction: number, counts: Readonly<ImportCounts>) {
      last = { ...counts };
      progress.update(fraction, `${counts.added} documents, ${(counts.added / seconds()).toFixed(1)}/s`);
    },
  };
  try {
    await runImport(source, client, state, limits, events, stop.signal);
  } catch (error) {
    progress.finish();
    process.stdout.write(summary(last, seconds()));
    throw importFailure(error, options);
  } finally {
    stop.release();
  }
  progress.finish();
  process.stdout.write(summary(last, seconds()));
  if (stop.signal.aborted) {
    throw new CommandFailure(ExitCode.interrupted, "interrupted", "run the same command again to send the rest");
  }
  if (last.problems > 0) process.exitCode = ExitCode.partial;
}

/** Says before anything is read whether the server is there and this token may add. */
async function checkWritable(client: RcpClient, options: ServerOptions): Promise<void> {
  const { capabilities } = await client.info({ retry: { retries: 0 } }).catch((error: unknown) => {
    throw callFailure(error, options);
  });
  const index = capabilities.index as { readonly writable?: unknown } | undefined;
  if (index?.writable === true) return;
  throw index === undefined
    ? new CommandFailure(
        ExitCode.connection,
        "this server takes no documents",
        "set capabilities.index to true in its configuration",
      )
    : new CommandFailure(
        ExitCode.connection,
        "this token may not add documents",
        `pass --token-file with an add token, such as ${TOKEN_FILE}`,
      );
}

function summary({ added, chunks, skipped, problems }: Readonly<ImportCounts>, seconds: number): string {
  const rate = added === 0 ? "" : `, ${(added / seconds).toFixed(1)} documents/s`;
  return `${added} documents added as ${chunks} chunks, ${skipped} unchanged since an earlier run, ${problems} left out, in ${seconds.toFixed(1)} s${rate}\n`;
}

function importFailure(error: unknown, options: ServerOptions): CommandFailure {
  if (error instanceof TooManyProblems) {
    const remedy = "correct what is listed above and run the same command again, or raise --max-problems";
    return new CommandFailure(ExitCode.partial, "stopped: too many documents were left out", remedy, { cause: error });
  }
  if (!(error instanceof RcpTransportError || error instanceof RcpCallError)) throw error;
  const { message, exitCode, remedy } = callFailure(error, options);
  const again = "run the same command again to send the rest";
  return new CommandFailure(exitCode, message, remedy === undefined ? again : `${remedy}; then ${again}`, {
    cause: error,
  });
}
