import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REPOSITORY } from "./subject.ts";

/** One change to one file of a copy. */
export interface Patch {
  /** Below the root, such as `src/rpc/ladder.ts`. */
  readonly file: string;
  readonly find: string | RegExp;
  readonly replace: string | ((found: string) => string);
  /** How often it must be found. */
  readonly times: number;
}

export interface SourceCopy {
  readonly root: string;
  remove(): Promise<void>;
}

/** What a server needs to run, and what starts it. */
const PARTS = ["src", "migrations", "test/support", "package.json"];

/**
 * Copies the source into a folder of its own and changes it there. The packages are the repository's.
 *
 * @throws when a patch is not found as often as it says: the source has moved on and the patch must follow
 */
export async function copySource(patches: readonly Patch[]): Promise<SourceCopy> {
  const root = await mkdtemp(join(await realpath(tmpdir()), "pgrcp-copy-"));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    for (const part of PARTS) await cp(join(REPOSITORY, part), join(root, part), { recursive: true });
    await symlink(join(REPOSITORY, "node_modules"), join(root, "node_modules"));
    for (const patch of patches) await apply(root, patch);
    return { root, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function apply(root: string, { file, find, replace, times }: Patch): Promise<void> {
  const path = join(root, file);
  let found = 0;
  const change = (text: string): string => {
    found += 1;
    return typeof replace === "string" ? replace : replace(text);
  };
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replaceAll(typeof find === "string" ? find : new RegExp(find, "g"), change));
  if (found !== times) throw new Error(`a patch of ${file} was found ${found} times, not ${times}: ${String(find)}`);
}
