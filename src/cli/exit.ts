/**
 * How a command ends. A script can tell from the code what to do; a person reads one line and one remedy.
 * bin/pgrcp.mjs repeats `environment` because it must run where this file cannot.
 */
export const ExitCode = {
  ok: 0,
  /** A bug or an unforeseen outage. */
  failure: 1,
  /** Wrong arguments, a file that is missing or malformed, a configuration that does not hold. */
  usage: 2,
  /** The server is out of reach, or it refuses the token. */
  connection: 3,
  /** The database is out of reach, of the wrong version, locked, or lacks a role, an extension or a migration. */
  database: 4,
  /** Some of the work is done; what is not was listed. */
  partial: 5,
  /** This machine cannot run it: Node too old, a port taken, model weights missing. */
  environment: 6,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** An expected way to fail: what was wrong, and one thing to do about it. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly remedy: string | undefined;
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, remedy?: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
    this.remedy = remedy;
  }
}

const EXIT_CODES: ReadonlySet<unknown> = new Set(Object.values(ExitCode));
const isExitCode = (value: unknown): value is ExitCode => EXIT_CODES.has(value);

/**
 * Any thrown value as a failure that can be printed. Errors of other folders that carry a `remedy` keep it, and their own
 * `exitCode` when they have one; everything else is a bug, shown by its message alone.
 */
export function toFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof Error && "remedy" in error && typeof error.remedy === "string") {
    const exitCode = "exitCode" in error && isExitCode(error.exitCode) ? error.exitCode : ExitCode.failure;
    return new CommandFailure(exitCode, error.message, error.remedy, { cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new CommandFailure(
    ExitCode.failure,
    `unexpected: ${message}`,
    "this is a bug in pgrcp; NODE_DEBUG=pgrcp shows where it happened",
    { cause: error },
  );
}

/** For standard error: what was wrong, what to do. */
export function formatFailure({ message, remedy }: CommandFailure): string {
  return `error: ${message}\n${remedy === undefined ? "" : `remedy: ${remedy}\n`}`;
}
