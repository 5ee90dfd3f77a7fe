import { ExitCode, formatFailure } from "./exit.ts";

/**
 * Ends the process on what nobody caught, in words that hold nothing of it: Node itself would print the error with all its members,
 * and with them whatever was asked or stored. A rejection that nobody handles comes this way, too.
 *
 * @param tell writes it to the log, before the process ends
 */
export function endOnCrash(tell: (origin: string, error: unknown) => void): void {
  process.on("uncaughtException", (error, origin) => {
    tell(origin, error);
    const remedy = "this is a bug in pgrcp; the log's last line says where it happened";
    process.stderr.write(formatFailure({ message: "the server met an error that nobody expected", remedy }));
    process.exit(ExitCode.failure);
  });
}
