import { backendUnavailable, ErrorCode, RpcError, timeout, unauthorized } from "../protocol/errors.ts";
import { REFUSED_AS_BEHIND, REFUSED_AS_LATE } from "../sql/replicas.ts";
import { StartupError } from "./startup-error.ts";

/** The one reader of SQLSTATE. */

const SOCKET_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

/** pg throws these without a code. */
const SOCKET_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|timeout exceeded when trying to connect)/;

/** pg's words, before anything is sent, for a password that is missing. */
const NO_PASSWORD = /^SASL: .*password must be/;

/** SQLSTATE that means "not now": connection, resources, operator intervention, a session that idled for too long. */
const UNAVAILABLE = /^(08|53|57P|58|25P03)/;
/** Serialization failure, deadlock, and a lock that did not come within the `lock_timeout` that somebody set for our logins. */
const SERIALIZATION: ReadonlySet<string> = new Set(["40001", "40P01", "55P03"]);

/** The five characters that Postgres sent, or the system's code of a socket that failed. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const isQueryCancelled = (error: unknown): boolean => codeOf(error) === "57014";

/** A write that met another one and may simply be run again. */
export const isSerializationFailure = (error: unknown): boolean => SERIALIZATION.has(codeOf(error) ?? "");

/** True when the connection can have died of it. */
function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return SOCKET_CODES.has(code) || /^(08|57P0[123])/.test(code);
  return error instanceof Error && SOCKET_MESSAGES.test(error.message);
}

/** A server that takes no writes: a replica after a failover, or one that its provider has locked. */
const isReadOnly = (error: unknown): boolean => codeOf(error) === "25006";

/**
 * True when a connection must not be used again after this error: its statement ran out of time or was cancelled, it is gone, or it
 * leads to a server that takes no writes while a new one may lead to the one that does.
 */
export const endsConnection = (error: unknown): boolean =>
  isQueryCancelled(error) || isConnectionLost(error) || isReadOnly(error);

const isPasswordMissing = (error: unknown): boolean => error instanceof Error && NO_PASSWORD.test(error.message);

/** A login that does not exist, or whose password is wrong or missing. */
const isLoginRefused = (error: unknown): boolean =>
  codeOf(error)?.startsWith("28") === true || isPasswordMissing(error);

/** The embedded database's answer to a transaction whose role no migration has made yet. */
export const isRoleMissing = (error: unknown): boolean => codeOf(error) === "22023";

/**
 * An error of the driver as the caller's: -32014 for a statement that ran out of time, -32012 for a right that the role lacks,
 * -32010 for a database that is out of reach or has no room. What is already an RpcError, and every bug, comes back as it was.
 */
export function toRpcError(error: unknown): unknown {
  if (error instanceof RpcError) return error;
  const code = codeOf(error);
  const options = { cause: error };
  if (code === "57014") return Object.assign(timeout("the database did not finish in time"), options);
  if (code === "42501") return Object.assign(unauthorized(), options);
  if (isLoginRefused(error)) return loginRefused(error);
  if (isSerializationFailure(error)) {
    return backendUnavailable(
      { retryable: true, retryAfterMs: 100, detail: "the write kept meeting other writes" },
      options,
    );
  }
  if (isReadOnly(error)) {
    return backendUnavailable(
      { retryable: true, retryAfterMs: 1_000, detail: "the database takes no writes at present" },
      options,
    );
  }
  if (isConnectionLost(error) || (code !== undefined && UNAVAILABLE.test(code))) return outOfReach(error);
  return error;
}

/**
 * Why no connection could be opened, as the caller's. Whatever it was, such as a certificate that nobody vouches for, the database is
 * out of reach: nothing was asked of it that could be a bug.
 */
export const notConnected = (error: unknown): RpcError =>
  isLoginRefused(error) ? loginRefused(error) : outOfReach(error);

const loginRefused = (cause: unknown): RpcError =>
  backendUnavailable({ retryable: false, detail: "the database refused the server's login" }, { cause });

const outOfReach = (cause: unknown): RpcError =>
  backendUnavailable({ retryable: true, retryAfterMs: 1_000, detail: "the database is out of reach" }, { cause });

export interface LoginAttempt {
  readonly url: string;
  readonly user: string;
  /** Where its password is set, such as `database.reader.password`. */
  readonly password: string;
}

/** Where a URL points, without who: a URL may hold a password. */
export function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
}

/** What became of a read that a replica could not answer. */
export type ReplicaFailure = "behind" | "late" | "statement" | "away";

/**
 * Why a replica did not answer: the corpus is not far enough there, or the replica as a whole; the statement failed in a database that is
 * well, as one that vacuum on the primary got in the way of does; or else there is nobody to rely on.
 */
export function replicaFailure(error: unknown): ReplicaFailure {
  const root = rootOf(error);
  const code = codeOf(root);
  if (code === REFUSED_AS_BEHIND) return "behind";
  if (code === REFUSED_AS_LATE) return "late";
  const isStatement = root instanceof Error && "severity" in root && code !== undefined;
  return isStatement && !isConnectionLost(root) && !UNAVAILABLE.test(code) && !isLoginRefused(root)
    ? "statement"
    : "away";
}

/** The code behind what a caller would be told. */
export const sqlstateOf = (error: unknown): string | undefined => codeOf(rootOf(error));

/** What the driver said, under what the server would tell a caller. */
const rootOf = (error: unknown): unknown =>
  error instanceof RpcError && error.cause !== undefined ? error.cause : error;

/**
 * Why nobody could log in, as one line and one remedy.
 *
 * @returns a StartupError; or the error itself when it says nothing about connecting
 */
export function connectFailure(error: unknown, { url, user, password }: LoginAttempt): unknown {
  const root = rootOf(error);
  const code = codeOf(root);
  const place = placeOf(url);
  const fail = (line: string, remedy: string) => new StartupError(line, remedy, undefined, { cause: error });
  if (code === "28P01" || isPasswordMissing(root)) {
    return fail(`the database at ${place} refused the password of ${user}`, `correct ${password}`);
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
  if (isConnectionLost(root) || root instanceof RpcError)
    return fail(`no database answers at ${place}`, "start it, or correct database.url");
  // What else kept a connection from being opened. A statement's error has a severity.
  const isOutOfReach = error instanceof RpcError && error.code === ErrorCode.BackendUnavailable;
  if (!isOutOfReach || (root instanceof Error && "severity" in root)) return error;
  const line = `no connection to the database at ${place} can be opened${code === undefined ? "" : ` (${code})`}`;
  return fail(line, "correct database.url; with TLS, its sslmode and sslrootcert");
}
