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
  kill(signal: NodeJS.Signals): void;
}

export function startCli(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): RunningCli {
  const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd, env: { ...process.env, ...env } });
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
  return { result, kill: (signal) => void child.kill(signal) };
}

export const runCli = (args: readonly string[], cwd: string, env?: NodeJS.ProcessEnv): Promise<CliResult> =>
  startCli(args, cwd, env).result;
