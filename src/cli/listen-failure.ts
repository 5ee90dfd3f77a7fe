import type { Config } from "../config/config.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

type Told = readonly [line: string, remedy: string];

const FAILURES: Readonly<Record<string, (server: Config["server"]) => Told>> = {
  EADDRINUSE: ({ port }) => [
    `port ${port} is taken by another program`,
    "stop it, or choose another port: PGRCP_SERVER__PORT=8788",
  ],
  EACCES: ({ port }) => [
    `this user may not listen on port ${port}`,
    "choose a port above 1023: PGRCP_SERVER__PORT=8787",
  ],
  EADDRNOTAVAIL: () => [
    "this machine does not have the address in server.host",
    "set server.host to 127.0.0.1 or to an address of this machine",
  ],
  ENOTFOUND: () => [
    "the name in server.host leads to no address",
    "set server.host to 127.0.0.1 or to an address of this machine",
  ],
};

/** Why a server cannot listen, as the command line tells it; any other error as it was. */
export function listenFailure(error: unknown, server: Config["server"]): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const told = FAILURES[code]?.(server);
  return told === undefined ? error : new CommandFailure(ExitCode.environment, ...told, { cause: error });
}
