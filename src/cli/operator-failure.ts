import { ErrorCode, RpcError } from "../protocol/errors.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

/** An error of the database as the command line tells it; anything else comes back as it was. */
export function databaseFailure(error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  const detail = error.data.detail ?? error.message;
  return error.code === ErrorCode.Unauthorized
    ? new CommandFailure(
        ExitCode.database,
        "the operator's login lacks a right that this command needs",
        "run pgrcp migrate, and set database.operator to the login pgrcp_operator",
        { cause: error },
      )
    : new CommandFailure(ExitCode.database, detail, "pgrcp doctor says what is wrong with the database", {
        cause: error,
      });
}
