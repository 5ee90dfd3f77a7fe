import { RpcError } from "../protocol/errors.ts";
import { codeOf, isConnectionLost } from "./pg-errors.ts";
import { StartupError } from "./startup-error.ts";

/** Why nobody could log in, as one line and one remedy. */

export interface LoginAttempt {
  readonly url: string;
  /** The configuration key of the login, such as `database.reader`. */
  readonly setting: string;
  readonly user: string;
}

/** Where a URL points, without who: a URL may hold a password. */
export function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
}

/** pg's own words when the server asks for a password and there is none. */
const NO_PASSWORD = /^SASL: .*password must be/;

/** What the driver said, under what the server would tell a caller. */
const rootOf = (error: unknown): unknown =>
  error instanceof RpcError && error.cause !== undefined ? error.cause : error;

/** @returns a StartupError; or the error itself when it says nothing about connecting */
export function connectFailure(error: unknown, { url, setting, user }: LoginAttempt): unknown {
  const root = rootOf(error);
  const code = codeOf(root);
  const place = placeOf(url);
  const fail = (line: string, remedy: string) => new StartupError(line, remedy, undefined, { cause: error });
  if (code === "28P01" || (root instanceof Error && NO_PASSWORD.test(root.message))) {
    return fail(`the database at ${place} refused the password of ${user}`, `set ${setting}.password to that login's`);
  }
  if (code === "28000") {
    const remedy = "run `pgrcp migrate`, which makes the logins, and look at the server's pg_hba.conf";
    return fail(`the database at ${place} does not let ${user} in`, remedy);
  }
  if (code === "3D000")
    return fail(`there is no database ${place}`, "make it with `createdb`, or correct database.url");
  if (code === "42501") {
    return fail(`${user} may not connect to ${place}`, "run `pgrcp migrate`, which gives the logins their rights");
  }
  if (code === "53300") return fail(`the database at ${place} has no connection left`, "raise its max_connections");
  if (code === "57P03") return fail(`the database at ${place} is starting or stopping`, "try again in a moment");
  if (!isConnectionLost(root) && !(root instanceof RpcError)) return error;
  return fail(`no database answers at ${place}`, "start it, or correct database.url");
}
