import { relative } from "node:path";
import type { Command } from "commander";
import { type Backends, openBackends, type RunningServer, startServer } from "../app.ts";
import { type Close, withClosing } from "../closing.ts";
import type { Config } from "../config/config.ts";
import { configWarnings } from "../config/warnings.ts";
import { createLogger } from "../observability/logger.ts";
import type { Observe } from "../observability/observation.ts";
import { indexSamples } from "../samples.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";
import { startControlSocket } from "./control-socket.ts";
import { endOnCrash } from "./end-on-crash.ts";
import { listenFailure } from "./listen-failure.ts";
import { showSlowMigration } from "./migrate-progress.ts";
import { createProgress } from "./progress.ts";
import { Stopped, type StopRequest, stopOnSignal } from "./stop-signal.ts";

export function registerServe(program: Command): void {
  addConfigOption(program.command("serve")).description("start the server").action(serve);
}

/** Runs until SIGINT or SIGTERM. Standard output has the `ready` line and the log; progress goes to standard error. */
async function serve(option: ConfigOption): Promise<void> {
  // Before anything is open, so that whatever is open when a signal comes is closed.
  const stop = stopOnSignal();
  try {
    await withClosing((closeLater) => run(option, stop, closeLater).catch(endIfStopped));
  } finally {
    stop.release();
  }
}

/** A start that is told to stop has not failed. */
function endIfStopped(error: unknown): void {
  if (!(error instanceof Stopped)) throw error;
}

async function run(option: ConfigOption, stop: StopRequest, closeLater: (close: Close) => void): Promise<void> {
  const config = await configOf(option);
  // Not pino's own way to standard output: where there is no room, that tries again for ever and holds the process up.
  const observe = createLogger(config.log, process.stdout);
  endOnCrash((where, error) => observe({ kind: "internal-error", where, error }));
  void stop.requested.then(({ by }) => observe({ kind: "stopping", reason: by }));
  for (const text of configWarnings(config)) observe({ kind: "warning", text });
  const backends = await open(config, observe, stop.signal);
  closeLater(backends.close);
  await withSamples(backends, stop.signal);
  closeLater(await openControlSocket(backends));
  stop.signal.throwIfAborted();
  const running = await startServer(backends).catch((error: unknown) => {
    throw listenFailure(error, config.server);
  });
  // Only a supervisor's SIGTERM has others to tell; who presses Ctrl-C waits.
  closeLater(() => running.close(stop.by() === "SIGTERM" ? config.server.drainMs : 0));
  stop.signal.throwIfAborted();
  announce(running, backends);
  await stop.requested;
}

async function open(config: Config, observe: Observe, signal: AbortSignal): Promise<Backends> {
  const progress = createProgress("filling filter columns");
  const show = showSlowMigration(progress);
  try {
    return await openBackends(config, observe, (event) => {
      // Between two steps, which is where a migration may be left.
      signal.throwIfAborted();
      show(event);
    });
  } finally {
    progress.finish();
  }
}

async function withSamples({ services }: Backends, signal: AbortSignal): Promise<void> {
  const progress = createProgress("indexing the sample corpus");
  try {
    await indexSamples(services, signal, (done, total) =>
      progress.update(done / total, `${done} of ${total} documents`),
    );
  } finally {
    progress.finish();
  }
}

/** Operator commands reach the embedded database through the one process that may open it. */
async function openControlSocket({ services, operator }: Backends): Promise<Close> {
  if (operator === undefined) return async () => {};
  const socket = await startControlSocket(services.config, operator, services);
  return () => socket.close();
}

/** What a newcomer needs next: the URL, and on a first run a command that works when pasted. */
function announce({ url, firstRun }: RunningServer, { services }: Backends): void {
  const { kind } = services.database;
  const lines = [
    `ready ${url} (${kind === "embedded" ? `embedded database in ${services.config.database.embeddedDir}` : "Postgres"})`,
  ];
  if (firstRun !== undefined) {
    const token = relative(process.cwd(), firstRun.tokenFiles.read);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "retrieve",
      params: { query: "How are tenants kept apart?", k: 3 },
    });
    lines.push(
      `curl -s ${url}/retrieve -H "Authorization: Bearer $(cat ${token})" -H 'Content-Type: application/json' -d '${body}'`,
    );
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
