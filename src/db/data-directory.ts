import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lockDirectory } from "./data-directory-lock.ts";
import { StartupError } from "./startup-error.ts";

/** The major version of Postgres inside the embedded engine. Its data files open with this one only. */
export const ENGINE_MAJOR = 18;

/** True when an engine has been here. */
export const hasEmbeddedData = (directory: string): boolean => existsSync(join(directory, "data", "PG_VERSION"));

export interface DataDirectoryClaim {
  /** Notes the engine's version beside the data, once the engine has opened it. */
  recordEngine(): Promise<void>;
  release(): Promise<void>;
}

async function readIfThere(file: string): Promise<string | undefined> {
  return await readFile(file, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await chmod(directory, 0o700);
  } catch (cause) {
    throw new StartupError(
      `the data directory ${directory} cannot be made`,
      "make it yourself and let it belong to this user, or set database.embeddedDir to another folder",
      undefined,
      { cause },
    );
  }
}

/**
 * Takes a data directory for this process: `<directory>/lock`, `<directory>/engine` and, for the engine, `<directory>/data`.
 *
 * @throws StartupError when it is in use, not writable, or written by another major version
 */
export async function claimDataDirectory(directory: string): Promise<DataDirectoryClaim> {
  await makeDirectory(directory);
  // The engine does not heed the umask, so the folder is what keeps other users out; a restored or hand-made one may be open.
  await makeDirectory(join(directory, "data"));
  const release = await lockDirectory(directory);
  const engineFile = join(directory, "engine");
  // Postgres' own file says the same, also where the one beside the data was lost.
  const found = (await readIfThere(engineFile)) ?? (await readIfThere(join(directory, "data", "PG_VERSION")));
  const major = found?.match(/\d+/)?.[0];
  if (major !== undefined && Number(major) !== ENGINE_MAJOR) {
    await release();
    throw new StartupError(
      `the data directory ${directory} was written by PostgreSQL ${major}, and this program has PostgreSQL ${ENGINE_MAJOR}`,
      "export its documents with the pgrcp version that wrote it, move the folder away, and import them again",
    );
  }
  return {
    release,
    recordEngine: () => writeFile(engineFile, `PostgreSQL ${ENGINE_MAJOR}\n`, { mode: 0o600 }),
  };
}
