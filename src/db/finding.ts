/** One thing that a check found: an `error` keeps the server from starting, a `warning` does not. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** What is wrong, in one line. */
  readonly line: string;
  /** What to do about it. */
  readonly remedy: string;
}

export const error = (line: string, remedy: string): Finding => ({ severity: "error", line, remedy });
export const warning = (line: string, remedy: string): Finding => ({ severity: "warning", line, remedy });
