import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * When a process was started, in whatever unit this machine gives: only for comparing. Undefined when no such process runs or the
 * machine does not tell.
 */
export function processStart(pid: number): string | undefined {
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The second field is the command in brackets and may hold anything; the start is the 20th after it.
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    }
    if (process.platform === "win32") return undefined;
    const output = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { stdio: ["ignore", "pipe", "ignore"] });
    return output.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}

/** True when a process with that id runs, whoever owns it. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
