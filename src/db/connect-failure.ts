import { codeOf } from "./pg-errors.ts";
import { StartupError } from "./startup-error.ts";

/** Why nobody could log in, as one line and one remedy. */

/** Where a URL points, without who: a URL may hold a password. */
export function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
}

/** pg's own words when the server asks for a password and there is none. */
const NO_PASSWORD = /^SASL: .*password must be/;

/**
 * @param setting the configuration key of the login, such as `database.reader`
 * @returns the error itself when it says nothing about connecting
 */
export function connectFailure(error: unknown, url: string, setting: string, user: string): unknown {
  const code = codeOf(error);
  const place = placeOf(url);
  const fail = (line: string, remedy: string) => new StartupError(line, remedy, undefined, { cause: error });
  if (code === "28P01" || (error instanceof Error && NO_PASSWORD.test(error.message))) {
    return fail(`the database at ${place} refused the password of ${user}`, `set ${setting}.password to that login's`);
  }
  if (code === "28000") {
    return fail(
      `the database at ${place} does not let ${user} in`,
      "run `pgrcp migrate`, which makes the logins, and look at pg_hba.conf",
    );
  }
  if (code === "3D000")
    return fail(`there is no database ${place}`, "make it with `createdb`, or correct database.url");
  if (code === "42501") {
    return fail(`${user} may not connect to ${place}`, "run `pgrcp migrate`, which gives the logins their rights");
  }
  if (code === "53300") return fail(`the database at ${place} has no connection left`, "raise its max_connections");
  if (code === "57P03")
    return fail(`the database at ${place} is starting up or shutting down`, "try again in a moment");
  const unreachable = code !== undefined && /^(E[A-Z_]+|08...)$/.test(code);
  const timedOut =
    error instanceof Error &&
    /^(timeout expired|Connection terminated|The server does not support SSL)/.test(error.message);
  if (!unreachable && !timedOut) return error;
  return fail(`no database answers at ${place}`, "start it, or correct database.url");
}
