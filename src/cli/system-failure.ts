import { visibleLine } from "./terminal-text.ts";

interface Told {
  readonly line: string;
  readonly remedy: string;
}

const NO_RIGHT = (path: string): Told => ({
  line: `this user may not use ${path}`,
  remedy: "give this user the right to read and write there, or choose another place",
});
const FULL = (path: string): Told => ({ line: `there is no room for ${path}`, remedy: "make room, then try again" });
const NO_FOLDER = (path: string): Told => ({
  line: `${path} cannot be made: a file is where a folder is needed`,
  remedy: "move that file away, or choose another place",
});

/** What a machine refuses whatever the program does. A file that is merely not there is not among them: that can be a bug. */
const REFUSALS: Readonly<Record<string, (path: string) => Told>> = {
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  EROFS: NO_RIGHT,
  ENOSPC: FULL,
  EDQUOT: FULL,
  ENOTDIR: NO_FOLDER,
  EEXIST: NO_FOLDER,
};

/** An error of the file system that its owner can put right, told with its path; undefined for any other error. */
export function systemFailure(error: unknown): Told | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || path === undefined || (code === "EEXIST" && syscall !== "mkdir")) return undefined;
  return REFUSALS[code]?.(visibleLine(path));
}
