import { backendUnavailable, RpcError, timeout, unauthorized } from "../protocol/errors.ts";

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

/** Classes of SQLSTATE that mean "not now": connection, resources, operator intervention. */
const UNAVAILABLE = /^(08|53|57P|58)/;
const SERIALIZATION: ReadonlySet<string> = new Set(["40001", "40P01"]);

/** The five characters that Postgres sent, or the system's code of a socket that failed. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export const isQueryCancelled = (error: unknown): boolean => codeOf(error) === "57014";

/** A write that met another one and may simply be run again. */
export const isSerializationFailure = (error: unknown): boolean => SERIALIZATION.has(codeOf(error) ?? "");

/** True when the connection can have died of it. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return SOCKET_CODES.has(code) || /^(08|57P0[123])/.test(code);
  return error instanceof Error && SOCKET_MESSAGES.test(error.message);
}

/** A login that does not exist, or whose password is wrong or missing. */
const isLoginRefused = (error: unknown): boolean =>
  codeOf(error)?.startsWith("28") === true || (error instanceof Error && NO_PASSWORD.test(error.message));

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
  if (isLoginRefused(error)) {
    return backendUnavailable({ retryable: false, detail: "the database refused the server's login" }, options);
  }
  if (isSerializationFailure(error)) {
    return backendUnavailable(
      { retryable: true, retryAfterMs: 100, detail: "the write kept meeting other writes" },
      options,
    );
  }
  if (isConnectionLost(error) || (code !== undefined && UNAVAILABLE.test(code))) {
    return backendUnavailable(
      { retryable: true, retryAfterMs: 1_000, detail: "the database is out of reach" },
      options,
    );
  }
  return error;
}
