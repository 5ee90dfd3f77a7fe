import { tellError } from "../observability/tell-error.ts";
import { ExitCode, ExpectedFailure } from "../protocol/failure.ts";
import { systemFailure } from "./system-failure.ts";

export { ExitCode } from "../protocol/failure.ts";

/** An expected failure of a command. */
export class CommandFailure extends ExpectedFailure {
  override readonly name = "CommandFailure";
  readonly remedy: string | undefined;
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, remedy?: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
    this.remedy = remedy;
  }
}

/** Any thrown value as a failure that can be printed. What nobody foresaw is a bug, told without what it quotes. */
export function toFailure(error: unknown): ExpectedFailure {
  if (error instanceof ExpectedFailure) return error;
  const refused = systemFailure(error);
  if (refused !== undefined) {
    return new CommandFailure(ExitCode.environment, refused.line, refused.remedy, { cause: error });
  }
  const { message, name, code } = tellError(error);
  return new CommandFailure(
    ExitCode.failure,
    `unexpected: ${message ?? (code === undefined ? name : `${name} ${code}`)}`,
    "this is a bug in pgrcp; NODE_DEBUG=pgrcp shows where it happened",
    { cause: error },
  );
}

/** For standard error: what was wrong, what to do. */
export function formatFailure({ message, remedy }: Pick<ExpectedFailure, "message" | "remedy">): string {
  return `error: ${message}\n${remedy === undefined ? "" : `remedy: ${remedy}\n`}`;
}
