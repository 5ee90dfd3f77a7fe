import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs the real command line as a child process. */

const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly result: Promise<CliResult>;
  /** What it has written to standard output so far. */
  stdout(): string;
  /**
   * The first line of standard output that begins so, once it is complete.
   *
   * @throws Error with what was written, when it ends without such a line
   */
  line(beginning: string): Promise<string>;
  kill(signal: NodeJS.Signals): void;
}

/** @param launcher of another copy of the program, when given */
export function startCli(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  launcher = LAUNCHER,
): RunningCli {
  const child = spawn(process.execPath, [launcher, ...args], { cwd, env: { ...process.env, ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.end();
  const result = new Promise<CliResult>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  const find = (beginning: string) =>
    stdout
      .split("\n")
      .slice(0, -1)
      .find((line) => line.startsWith(beginning));
  return {
    result,
    stdout: () => stdout,
    line: (beginning) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = find(beginning);
          if (found !== undefined) resolve(found);
        };
        child.stdout.on("data", look);
        look();
        result.then(({ code }) => reject(new Error(`ended with ${code}:\n${stdout}${stderr}`)), reject);
      }),
    kill: (signal) => void child.kill(signal),
  };
}

export const runCli = (
  args: readonly string[],
  cwd: string,
  env?: NodeJS.ProcessEnv,
  launcher?: string,
): Promise<CliResult> => startCli(args, cwd, env, launcher).result;
