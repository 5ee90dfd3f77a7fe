import { constants, open, realpath, stat } from "node:fs/promises";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { FetchRefusal } from "./refusal.ts";

/**
 * The bytes of a regular file below the root, once links are followed.
 *
 * @throws FetchRefusal, the same for a file that is not there and one that may not be read
 */
export async function readFileBody(url: URL, root: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await readBelow(fileURLToPath(url), root, maxBytes, signal);
  } catch (cause) {
    throw new FetchRefusal("file", { cause });
  }
}

async function readBelow(path: string, root: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const realRoot = (await realpath(root)).replace(/\/$/, "") + sep;
  const isBelow = (one: string) => one.startsWith(realRoot);
  // Before the disk is asked, whose time would tell what is there.
  if (!isBelow(path) && !path.startsWith(root.replace(/\/$/, "") + sep)) throw new Error("not below fetch.fileRoot");
  const realPath = await realpath(path);
  if (!isBelow(realPath)) throw new Error("a link out of fetch.fileRoot");
  // A pipe would otherwise wait for its writer.
  const file = await open(realPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = await file.stat();
    if (!opened.isFile()) throw new Error("not a regular file");
    // A folder on the way may have become a link in the meantime.
    const again = await stat(await realpath(realPath));
    if ((await realpath(realPath)) !== realPath || again.ino !== opened.ino || again.dev !== opened.dev)
      throw new Error("moved while it was opened");
    const buffer = new Uint8Array(maxBytes + 1);
    let bytes = 0;
    for (let read = -1; read !== 0 && bytes < buffer.length; bytes += read) {
      signal.throwIfAborted();
      read = (await file.read(buffer, bytes, buffer.length - bytes, bytes)).bytesRead;
    }
    if (bytes > maxBytes) throw new Error("larger than fetch.maxBytes");
    return buffer.subarray(0, bytes);
  } finally {
    await file.close();
  }
}
