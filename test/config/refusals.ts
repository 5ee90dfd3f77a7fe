import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig } from "../../src/config/load-config.ts";

const directory = mkdtemp(path.join(tmpdir(), "pgrcp-config-"));
let count = 0;

/** A file with the text, in a directory of this run. */
export async function fileWith(text: string, name = `${count++}.yaml`): Promise<string> {
  const file = path.join(await directory, name);
  await writeFile(file, text);
  return file;
}

export const loadText = async (yaml: string, env: NodeJS.ProcessEnv = {}) =>
  loadConfig({ file: await fileWith(yaml), env });

/** The problems that a file and variables have, with the file's directory taken out of the text. */
export async function problemsOf(yaml: string, env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const file = await fileWith(yaml);
  try {
    await loadConfig({ file, env });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((line) => line.replaceAll(file, "c.yaml"));
    throw error;
  }
  return [];
}
