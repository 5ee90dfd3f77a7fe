import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { type Command, Option } from "commander";
import { MAX_MESSAGE_BYTES } from "../bridge/answer-body.ts";
import { Bridge, DRAIN_MS } from "../bridge/bridge.ts";
import { listenOnLoopback } from "../bridge/loopback-server.ts";
import { serveStdio } from "../bridge/stdio.ts";
import { createUpstream } from "../bridge/upstream.ts";
import { corpusEndpoint, isPrivateChannel } from "../client/endpoint.ts";
import { isLoopback } from "../config/loopback.ts";
import { checkToken, readToken, wholeNumber } from "./client-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { readLines } from "./lines.ts";
import { type StopRequest, stopOnSignal } from "./stop-signal.ts";
import { visibleLine } from "./terminal-text.ts";

/** `pgrcp connect`: how RCP clients that speak stdio, or plain http without headers, reach a server over https with a token. */

interface ConnectOptions {
  readonly url: string;
  readonly corpus: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly listen?: Address;
  readonly timeout: number;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

type Say = (line: string) => void;

/** What runs when a signal comes may take so long; an agent that ends its child waits little longer. */
const SIGNAL_GRACE_MS = 1_000;

const HELP = `
Without --token-file the token is in RCP_TOKEN, or in the file that RCP_TOKEN_FILE names. A file is read before every request.
Standard output carries RCP messages and nothing else; diagnostics go to standard error.
With --listen, every program on this machine that can reach the port has the rights of the token.

Example: pgrcp connect --url https://rcp.example.org/rcp --token-file read.token`;

export function registerConnect(program: Command): void {
  program
    .command("connect")
    .description("be an RCP server on stdio or loopback http that forwards to a server over https")
    .requiredOption("--url <url>", "the server's base URL: https://…/rcp, or http:// on this machine")
    .option("--corpus <name>", "the corpus", "default")
    .option("--token-file <file>", "file with the bearer token")
    .option("--ca-file <file>", "certificates in PEM to trust instead of the system's")
    .addOption(new Option("--listen <address>", "serve http there instead of stdio").argParser(parseAddress))
    .addOption(
      new Option("--timeout <seconds>", "the longest that a call may take")
        .default(330)
        .argParser(wholeNumber(1, 86_400)),
    )
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
  const say = createSay();
  const base = endpoint(options);
  const ca = await readCertificates(options.caFile);
  const token = await tokenSource(options.tokenFile, say);
  const upstream = createUpstream({ base, token, say, ...(ca !== undefined && { ca }) });
  const bridge = new Bridge({ upstream, timeoutMs: options.timeout * 1_000, say });
  const stop = stopOnSignal();
  try {
    if (options.listen === undefined) await runStdio(bridge, stop);
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

/** A failure that repeats itself is told once. */
function createSay(): Say {
  let last = "";
  // Diagnostics that nobody reads are no reason to end.
  process.stderr.on("error", () => {});
  return (line) => {
    if (line !== last) process.stderr.write(`pgrcp connect: ${visibleLine(line)}\n`);
    last = line;
  };
}

function endpoint({ url, corpus }: ConnectOptions): URL {
  const usage = (message: string, cause?: unknown) =>
    new CommandFailure(ExitCode.usage, message, "pass --url such as https://rcp.example.org/rcp", { cause });
  try {
    const base = corpusEndpoint(url, corpus);
    if (isPrivateChannel(base)) return base;
  } catch (error) {
    throw error instanceof TypeError ? usage(error.message, error) : error;
  }
  throw usage("the URL must begin with https://: plain http can be read on the way");
}

async function readCertificates(file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  const refuse = (what: string, cause?: unknown) =>
    new CommandFailure(ExitCode.usage, `the file ${file} ${what}`, "pass --ca-file with certificates in PEM", {
      cause,
    });
  const ca = await readFile(file).catch((error: unknown) => {
    throw refuse("cannot be read", error);
  });
  // A text without a certificate would be taken for an empty list.
  if (!ca.includes("-----BEGIN CERTIFICATE-----")) throw refuse("holds no certificate");
  try {
    createSecureContext({ ca });
  } catch (error) {
    throw refuse("holds no certificate that can be read", error);
  }
  return ca;
}

/** A file that is being replaced, or is gone, leaves the last good token in use. */
async function tokenSource(tokenFile: string | undefined, say: Say): Promise<() => Promise<string | undefined>> {
  const file = tokenFile ?? process.env.RCP_TOKEN_FILE;
  if (file === undefined) {
    const text = process.env.RCP_TOKEN;
    const token = text === undefined ? undefined : checkToken(text.trim(), "RCP_TOKEN");
    return async () => token;
  }
  let token = await readToken(file, true);
  return async () => {
    try {
      token = await readToken(file, true);
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      say(`${error.message}; the last token stays in use`);
    }
    return token;
  };
}

function runStdio(bridge: Bridge, stop: StopRequest): Promise<void> {
  const stopReading = () => void process.stdin.destroy();
  void stop.requested.then(() => {
    stopReading();
    return bridge.close(SIGNAL_GRACE_MS);
  });
  return serveStdio({
    bridge,
    lines: stdinLines(),
    stopReading,
    writeLine: (text) => new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve())),
  });
}

/** However the input ends, by EOF, a lost pipe or `stopReading`, it has ended. */
async function* stdinLines(): AsyncGenerator<Uint8Array | undefined> {
  try {
    for await (const { bytes } of readLines(process.stdin, MAX_MESSAGE_BYTES)) yield bytes;
  } catch {
    return;
  }
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
