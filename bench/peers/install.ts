import { type ExecFileException, execFile } from "node:child_process";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The peers' packages, in the versions that this folder's lock file and requirements name, installed outside the repository. */

const run = promisify(execFile);
const HERE = fileURLToPath(new URL(".", import.meta.url));
const TIMEOUT_MS = 300_000;

export interface NodePeers {
  readonly folder: string;
}

export interface PythonPeers {
  readonly folder: string;
  readonly bin: string;
}

/** @throws Error that says what failed; its cause has what npm said */
export async function installNodePeers(parent: string): Promise<NodePeers> {
  const folder = join(parent, "node");
  await mkdir(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    await copyFile(join(HERE, file), join(folder, file));
  await runIn(folder, "npm", [
    "ci",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--fetch-retries=1",
    "--fetch-timeout=60000",
  ]);
  return { folder };
}

/** @throws Error that says what failed; its cause has what pip said */
export async function installPythonPeers(parent: string): Promise<PythonPeers> {
  const folder = join(parent, "python");
  await mkdir(folder, { recursive: true });
  await runIn(folder, "python3", ["-m", "venv", "venv"]);
  const bin = join(folder, "venv", "bin");
  await runIn(folder, join(bin, "pip"), [
    "install",
    "--quiet",
    "--retries=1",
    "--requirement",
    join(HERE, "requirements.txt"),
  ]);
  return { folder, bin };
}

/** @throws Error in words of ours alone: what a command says names the machine's folders and where it looked for packages */
async function runIn(cwd: string, command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(command, args, { cwd, timeout: TIMEOUT_MS });
    return stdout;
  } catch (cause) {
    throw new Error(`${basename(command)} ${args[0]} ${howItFailed(cause as ExecFileException)}`, { cause });
  }
}

function howItFailed({ code, killed }: ExecFileException): string {
  if (killed === true) return `took longer than ${TIMEOUT_MS / 1_000} s`;
  return code === "ENOENT" ? "cannot be run: there is no such command" : `failed with exit code ${code}`;
}

/** Of what the server of the Node peers is made of. */
export async function installedVersions({ folder }: NodePeers): Promise<Record<string, string>> {
  const text = await readFile(join(folder, "package.json"), "utf8");
  return (JSON.parse(text) as { readonly dependencies: Record<string, string> }).dependencies;
}

export async function packageVersion({ folder, bin }: PythonPeers, name: string): Promise<string> {
  return /^Version: (.*)$/m.exec(await runIn(folder, join(bin, "pip"), ["show", name]))?.[1] ?? "unknown";
}
