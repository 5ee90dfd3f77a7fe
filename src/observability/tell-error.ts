import { RpcError } from "../protocol/errors.ts";
import { ExpectedFailure, PlainError } from "../protocol/failure.ts";

/** What may be known of an error. */
export interface ToldError {
  readonly name: string;
  /** Of errors whose messages are our own words, and of them alone. */
  readonly message?: string;
  readonly code?: string | number;
  /** Where it was met, without what was said. */
  readonly stack?: string;
  readonly cause?: ToldError;
}

/**
 * Name, code and stack of an error and of its causes, and the message where it is ours. Nothing else: Postgres, JSON.parse, Node and
 * every library quote values in what they say, and a driver hangs rows and parameters on its errors as further members.
 */
export function tellError(error: unknown, depth = 0): ToldError {
  if (!(error instanceof Error)) return { name: "thrown", message: `a ${typeof error} was thrown, not an error` };
  const { name, message, cause } = error;
  const code = codeOf(error);
  const stack = framesOf(error);
  return {
    name: /^[A-Za-z]{1,64}$/.test(name) ? name : "Error",
    ...(isOurs(error) && { message }),
    ...(code !== undefined && { code }),
    ...(stack !== "" && { stack }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: tellError(cause, depth + 1) }),
  };
}

const MAX_CAUSES = 8;

const isOurs = (error: Error): boolean =>
  error instanceof RpcError || error instanceof ExpectedFailure || error instanceof PlainError;

/** A number, SQLSTATE, or a name such as ECONNREFUSED. */
function codeOf(error: Error): string | number | undefined {
  if (!("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "number" || (typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code)) ? code : undefined;
}

/** The stack below the message, which stands at its top and may have any number of lines; none where that cannot be told. */
function framesOf({ message, stack = "" }: Error): string {
  const at = stack.indexOf(message);
  if (at < 0) return "";
  const below = stack.slice(at + message.length).split("\n");
  return below
    .filter((line) => /^\s+at /.test(line))
    .join("\n")
    .trimStart();
}
