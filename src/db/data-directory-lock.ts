import { mkdir, readFile, rmdir, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning, processStart } from "./process-start.ts";
import { StartupError } from "./startup-error.ts";

/**
 * One process per data directory: two would corrupt it, and the embedded engine itself does not look.
 *
 * The lock is a file with the holder's process id, its start time (an id is used again) and its host. Another host's processes
 * cannot be looked at (two containers on one volume), so the holder also touches the file, and there silence means death.
 */

const HEARTBEAT_MS = 5_000;
const SILENCE_MS = 30_000;
/** Nobody holds the take-over mark for longer than a few file operations. */
const TAKE_OVER_MS = 10_000;

interface Holder {
  readonly pid: number;
  readonly started: string;
  readonly host: string;
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;

function parseHolder(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { pid, started, host } = value as Record<string, unknown>;
    if (typeof pid !== "number" || typeof started !== "string" || typeof host !== "string") return undefined;
    return { pid, started, host };
  } catch {
    return undefined;
  }
}

/** Creates the file, or says that it is there already. */
async function create(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function isAlive(file: string): Promise<Holder | "unknown" | undefined> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const silence = Date.now() - (await stat(file)).mtimeMs;
  const holder = parseHolder(text);
  // Half-written by a process that died, or that is writing it now.
  if (holder === undefined) return silence < HEARTBEAT_MS ? "unknown" : undefined;
  if (holder.host !== hostname()) return silence < SILENCE_MS ? holder : undefined;
  const started = processStart(holder.pid);
  const same = started === undefined || holder.started === "" || started === holder.started;
  return isRunning(holder.pid) && same ? holder : undefined;
}

/**
 * Removes a dead holder's file. Of several that try, one does it: the mark is a directory, and making one is exclusive. It looks
 * again first, because by then the file may be a living one's.
 */
export async function removeStale(file: string): Promise<void> {
  const mark = `${file}.take-over`;
  try {
    await mkdir(mark);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
    const age = await stat(mark).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > TAKE_OVER_MS) await rmdir(mark).catch(() => {});
    else await sleep(50);
    return;
  }
  try {
    if ((await isAlive(file)) === undefined) await unlink(file).catch(() => {});
  } finally {
    await rmdir(mark);
  }
}

/**
 * Locks a directory for this process.
 *
 * @returns gives the lock back
 * @throws StartupError when a living process holds it
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const file = join(directory, "lock");
  const self: Holder = { pid: process.pid, started: processStart(process.pid) ?? "", host: hostname() };
  for (let attempt = 0; !(await create(file, `${JSON.stringify(self)}\n`)); attempt += 1) {
    const holder = await isAlive(file);
    if (holder !== undefined || attempt > 100) throw locked(directory, holder);
    await removeStale(file);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  heartbeat.unref();
  return async () => {
    clearInterval(heartbeat);
    await unlink(file).catch(() => {});
  };
}

function locked(directory: string, holder: Holder | "unknown" | undefined): StartupError {
  const by = typeof holder === "object" ? `process ${holder.pid} on ${holder.host}` : "another process";
  return new StartupError(
    `the data directory ${directory} is in use by ${by}`,
    "stop that process, or set database.embeddedDir to another folder",
  );
}
