import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import {
  corpusEndpoint,
  RcpCallError,
  RcpCapabilityError,
  RcpClient,
  type RcpClientOptions,
  RcpTransportError,
  type TokenSource,
} from "../client/index.ts";
import { ErrorCode } from "../protocol/errors.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { visibleLine } from "./terminal-text.ts";

/** What every command that talks to a running server shares: `--url`, `--token-file`, `--corpus`, and how its failures read. */

export interface ServerOptions {
  readonly url: string;
  readonly tokenFile?: string;
  readonly corpus: string;
  readonly insecureHttp?: boolean;
}

const DEFAULT_URL = "http://127.0.0.1:8787/rcp";

/** @param tokenFile where `serve` leaves the token for this command at a first run */
export function addServerOptions(command: Command, tokenFile: string): Command {
  return command
    .option("--url <url>", "the server's base URL", DEFAULT_URL)
    .option("--token-file <file>", `file with the bearer token (default: ${tokenFile}, if it is there)`)
    .option("--corpus <name>", "the corpus", "default")
    .option("--insecure-http", "send the token over plain http to another machine");
}

/** Parses an option that counts something. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

export interface Connection {
  readonly client: RcpClient;
  readonly token: string | undefined;
}

/**
 * A client for the command's options.
 *
 * The token is read anew when the server refuses it, because a development server mints new ones at every start.
 *
 * @throws CommandFailure when the URL or the token file is of no use
 */
export async function connect(
  options: ServerOptions,
  defaultTokenFile: string,
  more: Pick<RcpClientOptions, "onRetry" | "retry" | "timeoutMs"> = {},
): Promise<Connection> {
  const file = options.tokenFile ?? defaultTokenFile;
  const token = await readToken(file, options.tokenFile !== undefined);
  try {
    const client = new RcpClient({
      url: options.url,
      corpus: options.corpus,
      ...(token !== undefined && { token: tokenSource(file, token) }),
      allowPlainHttp: options.insecureHttp === true,
      clientInfo: { name: "pgrcp-cli", version: "1" },
      ...more,
    });
    return { client, token };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const remedy = `pass --url such as ${DEFAULT_URL}, or --insecure-http to send the token over plain http all the same`;
    throw new CommandFailure(ExitCode.usage, error.message, remedy, { cause: error });
  }
}

function tokenSource(file: string, first: string): TokenSource {
  let token = first;
  return async (refused) => {
    if (refused) token = (await readToken(file, false)) ?? token;
    return token;
  };
}

/** Undefined, so no token at all, when none was named and the default file is not there: a server may need none. */
export async function readToken(file: string, required: boolean): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (!required) return undefined;
    const remedy = "pass --token-file with a file that holds one token";
    throw new CommandFailure(ExitCode.usage, `the token file ${file} cannot be read`, remedy, { cause: error });
  }
  return checkToken(text, file);
}

/**
 * A header value: a stray line break or a byte beyond ASCII would otherwise fail deep inside the client.
 *
 * @param place where the token stands
 * @throws CommandFailure
 */
export function checkToken(text: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new CommandFailure(
    ExitCode.usage,
    `${place} does not hold one token`,
    `${place} must hold the token and nothing else`,
  );
}

/** The endpoint that a command talks to, for its output. */
export const endpointOf = (options: ServerOptions): string => corpusEndpoint(options.url, options.corpus).href;

/** A failed call as a failure of the command. Anything else is thrown on as it is. */
export function callFailure(error: unknown, options: ServerOptions): CommandFailure {
  if (error instanceof RcpTransportError) {
    return new CommandFailure(
      ExitCode.connection,
      `no answer from ${options.url}: ${error.detail}`,
      "start the server (npm start), or name another with --url",
      { cause: error },
    );
  }
  if (error instanceof RcpCapabilityError)
    return new CommandFailure(ExitCode.usage, error.message, "leave the option out, or switch it on at the server", {
      cause: error,
    });
  if (!(error instanceof RcpCallError)) throw error;
  const detail = error.data.detail === undefined ? "" : ` (${visibleLine(error.data.detail)})`;
  const message = `the server answered ${error.code}: ${visibleLine(error.message)}${detail}`;
  return new CommandFailure(exitCodeOf(error), message, remedyOf(error), { cause: error });
}

function exitCodeOf(error: RcpCallError): ExitCode {
  return error.code === ErrorCode.InvalidParams || error.code === ErrorCode.OptionUnsupported
    ? ExitCode.usage
    : ExitCode.connection;
}

function remedyOf(error: RcpCallError): string | undefined {
  switch (error.code) {
    case ErrorCode.Unauthorized:
      return error.httpStatus === 401
        ? "pass --token-file with a live token; a first-run server leaves fresh ones in .pgrcp/dev at every start"
        : "use a token with this credential, and check that its tenant has this corpus";
    case ErrorCode.RateLimited:
    case ErrorCode.BackendUnavailable:
    case ErrorCode.Timeout:
      return "wait, then run the same command again; the server's log says what is wrong";
    case ErrorCode.CapabilityMissing:
      return "this server has the method switched off (capabilities in its configuration)";
    default:
      return undefined;
  }
}
