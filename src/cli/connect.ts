import { isIP } from "node:net";
import { type Command, Option } from "commander";
import { answerBody } from "../bridge/answer-body.ts";
import { Bridge, DRAIN_MS } from "../bridge/bridge.ts";
import { listenOnLoopback } from "../bridge/loopback-server.ts";
import { createUpstream } from "../bridge/upstream.ts";
import { corpusEndpoint } from "../client/endpoint.ts";
import { isLoopback } from "../config/loopback.ts";
import {
  addBridgeOptions,
  type BridgeOptions,
  createSay,
  privateEndpoint,
  readBridgeFiles,
  runStdio,
  type Say,
  SIGNAL_GRACE_MS,
} from "./bridge-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { type StopRequest, stopOnSignal } from "./stop-signal.ts";

/** `pgrcp connect`: how RCP clients that speak stdio, or plain http without headers, reach a server over https with a token. */

interface ConnectOptions extends BridgeOptions {
  readonly corpus: string;
  readonly listen?: Address;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

const HELP = `
Without --token-file the token is in RCP_TOKEN, or in the file that RCP_TOKEN_FILE names. A file is read before every request.
Standard output carries RCP messages and nothing else; diagnostics go to standard error.
With --listen, every program on this machine that can reach the port has the rights of the token.

Example: pgrcp connect --url https://rcp.example.org/rcp --token-file read.token`;

export function registerConnect(program: Command): void {
  const command = program
    .command("connect")
    .description("be an RCP server on stdio or loopback http that forwards to a server over https");
  addBridgeOptions(command)
    .option("--corpus <name>", "the corpus", "default")
    .addOption(new Option("--listen <address>", "serve http there instead of stdio").argParser(parseAddress))
    .addHelpText("after", HELP)
    .action(connect);
}

/** @throws CommandFailure for what other machines could reach, or may lead anywhere */
function parseAddress(text: string): Address {
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) !== 0 && isLoopback(bare) && Number(port) <= 65_535) return { host: bare, port: Number(port) };
  throw new CommandFailure(
    ExitCode.usage,
    "--listen takes an address that only this machine can reach",
    "pass 127.0.0.1:PORT or [::1]:PORT, with port 0 for any free one",
  );
}

async function connect(options: ConnectOptions): Promise<void> {
  const say = createSay("connect");
  const base = privateEndpoint(() => corpusEndpoint(options.url, options.corpus));
  const upstream = createUpstream({ base, say, ...(await readBridgeFiles(options, say)) });
  const bridge = new Bridge({ upstream, timeoutMs: options.timeout * 1_000, say });
  const stop = stopOnSignal();
  try {
    if (options.listen === undefined)
      await runStdio(bridge, (line, caller) => answerBody(line, { kind: "line" }, bridge, caller), stop);
    else await runLoopback(bridge, options.listen, stop, say);
  } finally {
    stop.release();
    upstream.close();
  }
  if (bridge.ending !== "changed") return;
  throw new CommandFailure(
    ExitCode.connection,
    "the server's capabilities are no longer those that the client was told",
    "connect again, so that the client learns the new ones",
  );
}

async function runLoopback(bridge: Bridge, address: Address, stop: StopRequest, say: Say): Promise<void> {
  const server = await listenOnLoopback(bridge, address).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error)) throw error;
    const remedy = "pass --listen with a port that is free, or port 0 for any";
    throw new CommandFailure(ExitCode.environment, `cannot listen there (${error.code})`, remedy, { cause: error });
  });
  say(`listening on ${server.url}`);
  const graceMs = await Promise.race([bridge.ended.then(() => DRAIN_MS), stop.requested.then(() => SIGNAL_GRACE_MS)]);
  await bridge.close(graceMs);
  await server.close();
}
