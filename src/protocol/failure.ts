/**
 * How the process ends. A script can tell from the code what to do; a person reads one line and one remedy.
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

/**
 * An error whose message is this project's own words: nothing in it was sent by a caller, read from a file or answered by another
 * server. The log prints such messages and no others.
 */
export class PlainError extends Error {
  override readonly name: string = "PlainError";
}

/**
 * An expected way for a start or a command to fail: the message is what was wrong, in one line. Whatever is thrown and is none of
 * these is told as a bug.
 */
export abstract class ExpectedFailure extends Error {
  /** One thing to do about it. */
  abstract readonly remedy: string | undefined;
  /** What the process should exit with. */
  abstract readonly exitCode: number;
}
