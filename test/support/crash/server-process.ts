import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const LAUNCHER = fileURLToPath(new URL("../../../bin/pgrcp.mjs", import.meta.url));
const START_TIMEOUT_MS = 120_000;

/** `pgrcp serve` as a child process. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves with the URL of the `ready` line. */
  readonly ready: Promise<string>;
  /** Resolves when the process is gone, with what ended it. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
  /** Everything that it has written to standard output and standard error. */
  output(): string;
}

export function startServer(configFile: string, cwd: string, env: NodeJS.ProcessEnv): ServerProcess {
  const child = spawn(process.execPath, [LAUNCHER, "serve", "--config", configFile], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ready = readyUrl(child);
  // A server may be killed before it is ready, and then nobody waits for its URL.
  ready.catch(() => {});
  return { pid: child.pid ?? 0, ready, ended, kill: (signal) => void child.kill(signal), output: () => output };
}

function readyUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why: string) => reject(new Error(`the server ${why}:\n${output}`));
    const timer = setTimeout(() => fail("does not get ready"), START_TIMEOUT_MS);
    child.once("error", reject);
    child.once("close", () => fail("ended before it was ready"));
    child.once("close", () => clearTimeout(timer));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text: string) => {
        output += text;
        const url = /^ready (\S+)/m.exec(output)?.[1];
        if (url === undefined) return;
        clearTimeout(timer);
        resolve(url);
      });
    }
  });
}
