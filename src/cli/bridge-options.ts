import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { type Command, Option } from "commander";
import { MAX_MESSAGE_BYTES } from "../bridge/answer-body.ts";
import type { PosterOptions } from "../bridge/https-post.ts";
import { type StdioOptions, serveStdio } from "../bridge/stdio.ts";
import { isPrivateChannel } from "../client/endpoint.ts";
import { checkToken, readToken, wholeNumber } from "./client-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { readLines } from "./lines.ts";
import type { StopRequest } from "./stop-signal.ts";
import { visibleLine } from "./terminal-text.ts";

/** What `connect` and `mcp` share: a server over https, its token and certificates, and a client on stdio. */

export interface BridgeOptions {
  readonly url: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  /** Seconds. */
  readonly timeout: number;
}

export type Say = (line: string) => void;

/** What runs when a signal comes may take so long; an agent that ends its child waits little longer. */
export const SIGNAL_GRACE_MS = 1_000;

export function addBridgeOptions(command: Command): Command {
  return command
    .requiredOption("--url <url>", "the server's base URL: https://…/rcp, or http:// on this machine")
    .option("--token-file <file>", "file with the bearer token")
    .option("--ca-file <file>", "certificates in PEM to trust instead of the system's")
    .addOption(
      new Option("--timeout <seconds>", "the longest that a call may take")
        .default(330)
        .argParser(wholeNumber(1, 86_400)),
    );
}

/** A failure that repeats itself is told once. */
export function createSay(command: string): Say {
  let last = "";
  // Diagnostics that nobody reads are no reason to end.
  process.stderr.on("error", () => {});
  return (line) => {
    if (line !== last) process.stderr.write(`pgrcp ${command}: ${visibleLine(line)}\n`);
    last = line;
  };
}

/** @throws CommandFailure for a URL that is none, or that a token would be readable on the way to */
export function privateEndpoint(parse: () => URL): URL {
  const usage = (message: string, cause?: unknown) =>
    new CommandFailure(ExitCode.usage, message, "pass --url such as https://rcp.example.org/rcp", { cause });
  try {
    const base = parse();
    if (isPrivateChannel(base)) return base;
  } catch (error) {
    throw error instanceof TypeError ? usage(error.message, error) : error;
  }
  throw usage("the URL must begin with https://: plain http can be read on the way");
}

/** @throws CommandFailure for a file that is of no use */
export async function readBridgeFiles(
  { caFile, tokenFile }: BridgeOptions,
  say: Say,
): Promise<Pick<PosterOptions, "ca" | "token">> {
  const ca = await readCertificates(caFile);
  const token = await tokenSource(tokenFile, say);
  return { token, ...(ca !== undefined && { ca }) };
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

/** Serves the client on standard input and output until the one ends, the bridge does, or a signal comes. */
export function runStdio(
  bridge: StdioOptions["bridge"],
  answerLine: StdioOptions["answerLine"],
  stop: StopRequest,
): Promise<void> {
  const stopReading = () => void process.stdin.destroy();
  void stop.requested.then(() => {
    stopReading();
    return bridge.close(SIGNAL_GRACE_MS);
  });
  return serveStdio({
    bridge,
    answerLine,
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
