import fs from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded before the server's own code (`--import`), in each of its threads: when the file named by CRASH_ORDER_FILE is there, the
 * embedded engine's next write to its write-ahead log ends the process with SIGKILL before it, half-way or after it. The engine writes
 * its log when a transaction commits.
 */

const orderFile = process.env.CRASH_ORDER_FILE;
/** What the kernel writes as a whole, even when the writer is killed. */
const PAGE_BYTES = 4096;
const LOG_SEGMENT = /pg_wal[/\\][0-9A-F]{24}$/;

if (!isMainThread && orderFile !== undefined) {
  const { openSync, closeSync, writeSync } = fs;
  const logs = new Set<number>();
  const open: typeof fs.openSync = (path, flags, mode) => {
    const file = openSync(path, flags, mode);
    if (LOG_SEGMENT.test(String(path))) logs.add(file);
    return file;
  };
  const close: typeof fs.closeSync = (file) => {
    logs.delete(file);
    closeSync(file);
  };
  const write = (file: number, bytes: Uint8Array, offset: number, length: number, position: number): number => {
    if (!logs.has(file) || !fs.existsSync(orderFile)) return writeSync(file, bytes, offset, length, position);
    const point = fs.readFileSync(orderFile, "utf8");
    const half = Math.max(1, Math.floor(length / 2 / PAGE_BYTES)) * PAGE_BYTES;
    if (point !== "before") writeSync(file, bytes, offset, point === "midway" ? half : length, position);
    process.kill(process.pid, "SIGKILL");
    return length;
  };
  Object.assign(fs, { openSync: open, closeSync: close, writeSync: write });
}
