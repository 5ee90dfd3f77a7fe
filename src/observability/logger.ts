import { type DestinationStream, type LevelWithSilent, pino } from "pino";
import type { Observation, Observe } from "./observation.ts";

type Level = "error" | "warn" | "info" | "debug";

const LEVELS = {
  listening: "info",
  stopping: "info",
  request: "info",
  "token-refused": "warn",
  "identity-ignored": "warn",
  "rate-limited": "warn",
  "backend-failed": "warn",
  "internal-error": "error",
  "audit-failed": "error",
  database: "warn",
  warning: "warn",
} as const satisfies Record<Observation["kind"], Level>;

/** An observer that writes one JSON line per observation. */
export function createLogger({ level }: { readonly level: LevelWithSilent }, destination: DestinationStream): Observe {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: "event" };
  const logger = pino(options, destination);
  return (observation) => {
    const { kind, ...fields } = observation;
    logger[LEVELS[kind]]("error" in fields ? { ...fields, error: chainOf(fields.error) } : fields, kind);
  };
}

interface LoggedError {
  readonly name: string;
  /** Absent from an error of Postgres. */
  readonly message?: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/**
 * Name, message, code and stack of an error and of its causes. Nothing else: a driver hangs row values and parameters on its
 * errors as further members. What Postgres itself said is left out as well, because it quotes values (22P02, 22007, 23505).
 */
function chainOf(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { name: "thrown", message: `a ${typeof error} was thrown, not an error` };
  const { name, message, stack, cause } = error;
  if (isFromPostgres(error)) return { name, code: error.code, ...framesOf(error) };
  const code =
    "code" in error && (typeof error.code === "string" || typeof error.code === "number") ? error.code : undefined;
  return {
    name,
    message,
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: chainOf(cause, depth + 1) }),
  };
}

const MAX_CAUSES = 8;

/** An error that Postgres sent, whatever driver made it: a severity, and five characters of SQLSTATE. */
function isFromPostgres(error: Error): error is Error & { readonly code: string } {
  if (!("severity" in error) || !("code" in error)) return false;
  return typeof error.severity === "string" && typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code);
}

/** The stack below the message, which stands at its top and may have any number of lines; none where that cannot be told. */
function framesOf({ message, stack = "" }: Error): { readonly stack?: string } {
  const at = stack.indexOf(message);
  return at < 0 ? {} : { stack: stack.slice(at + message.length).trimStart() };
}
