import { ExpectedFailure } from "../protocol/failure.ts";

/** What keeps the process from starting or a command from running: one line, one remedy, an exit code. */
export class StartupError extends ExpectedFailure {
  override readonly name = "StartupError";
  /** One thing to do about it. */
  readonly remedy: string;
  readonly exitCode: number;

  constructor(line: string, remedy: string, exitCode: number = DATABASE_EXIT_CODE, options?: ErrorOptions) {
    super(line, options);
    this.remedy = remedy;
    this.exitCode = exitCode;
  }

  get line(): string {
    return this.message;
  }
}

/** The command line's code for "the database": out of reach, locked, of another version, without a role or a migration. */
const DATABASE_EXIT_CODE = 4;
