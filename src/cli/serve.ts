import { relative } from "node:path";
import type { Command } from "commander";
import { type Backends, openBackends, type RunningServer, startServer } from "../app.ts";
import { loadConfig } from "../config/load-config.ts";
import { configWarnings } from "../config/warnings.ts";
import { createLogger } from "../observability/logger.ts";
import { indexSamples } from "../samples.ts";
import { startControlSocket } from "./control-socket.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { createProgress } from "./progress.ts";

export function registerServe(program: Command): void {
  program
    .command("serve")
    .description("start the server")
    .option("--config <file>", "configuration file (default: config.yaml here, if there is one)")
    .action(async ({ config }: { config?: string }) => serve(config));
}

/** Runs until SIGINT or SIGTERM. Standard output has the `ready` line and the log; progress goes to standard error. */
async function serve(file: string | undefined): Promise<void> {
  const config = await loadConfig({ file, env: process.env });
  const observe = createLogger(config.log);
  for (const text of configWarnings(config)) observe({ kind: "warning", text });
  const backends = await openBackends(config, observe);
  let running: RunningServer | undefined;
  let closeSocket = async () => {};
  try {
    await withSamples(backends);
    closeSocket = await openControlSocket(backends);
    running = await startServer(backends).catch(explainListenError(config.server.port));
    announce(running, backends);
    observe({ kind: "stopping", reason: await stopSignal() });
  } finally {
    await running?.close();
    await closeSocket();
    await backends.close();
  }
}

async function withSamples({ services }: Backends): Promise<void> {
  const progress = createProgress("indexing the sample corpus");
  await indexSamples(services, (done, total) => progress.update(done / total, `${done} of ${total} documents`));
  progress.finish();
}

/** Operator commands reach the embedded database through the one process that may open it. */
async function openControlSocket({ services, operator }: Backends): Promise<() => Promise<void>> {
  if (operator === undefined) return async () => {};
  const socket = await startControlSocket(services.config, operator, services);
  return () => socket.close();
}

/** A second signal ends the process at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(ExitCode.interrupted));
        resolve(signal);
      });
    }
  });
}

const LISTEN_FAILURES: Readonly<Record<string, (port: number) => CommandFailure>> = {
  EADDRINUSE: (port) =>
    new CommandFailure(
      ExitCode.environment,
      `port ${port} is taken by another program`,
      "stop it, or choose another port: PGRCP_SERVER__PORT=8788",
    ),
  EACCES: (port) =>
    new CommandFailure(
      ExitCode.environment,
      `this user may not listen on port ${port}`,
      "choose a port above 1023: PGRCP_SERVER__PORT=8787",
    ),
  EADDRNOTAVAIL: () =>
    new CommandFailure(
      ExitCode.environment,
      "this machine does not have the address in server.host",
      "set server.host to 127.0.0.1 or to an address of this machine",
    ),
};

const explainListenError =
  (port: number) =>
  (error: unknown): never => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    throw LISTEN_FAILURES[code]?.(port) ?? error;
  };

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
