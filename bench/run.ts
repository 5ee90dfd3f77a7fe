import { execFile } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { promisify } from "node:util";
import pg from "pg";

/** On what and when figures were measured: without it nobody can tell what they mean. */
export interface Run {
  /** Of `npm run bench`; of folders only their names. */
  readonly options: string;
  /** In UTC. */
  readonly startedAt: string;
  readonly endedAt: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly os: string;
  readonly node: string;
  readonly postgres: string;
  readonly sharedBuffers: string;
  readonly pgvector: string;
  /** Unknown outside of a repository; ends with `+` where files differ from it. */
  readonly commit: string;
  /** Of the machine, over the last minute: what else it had to do is in it, too. */
  readonly load: { readonly start: number; readonly end: number };
  /** That each step took, in their order. */
  readonly seconds: Readonly<Record<string, number>>;
}

/** @param url of the cluster that is measured on @returns to be called with the seconds of the steps so far */
export async function startRun(
  url: string,
  options: readonly string[],
): Promise<(seconds: Readonly<Record<string, number>>) => Run> {
  const start = loadavg()[0] ?? 0;
  const startedAt = new Date().toISOString();
  const facts = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    os: `${type()} ${release()}`,
    node: process.version,
    ...(await serverOf(url)),
    commit: await commit(),
  };
  return (seconds) => ({
    options: options.map((option) => option.replace(/=.*\/(?=.)/, "=")).join(" "),
    startedAt,
    endedAt: new Date().toISOString(),
    ...facts,
    load: { start, end: loadavg()[0] ?? 0 },
    seconds,
  });
}

async function serverOf(url: string): Promise<Pick<Run, "postgres" | "sharedBuffers" | "pgvector">> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Pick<Run, "postgres" | "sharedBuffers" | "pgvector">>(
      `select current_setting('server_version') as postgres, current_setting('shared_buffers') as "sharedBuffers",
(select default_version from pg_available_extensions where name = 'vector') as pgvector`,
    );
    const [server] = rows;
    if (server === undefined) throw new Error("Postgres says what it is");
    return server;
  } finally {
    await client.end();
  }
}

async function commit(): Promise<string> {
  const git = async (...args: readonly string[]) => (await promisify(execFile)("git", args)).stdout.trim();
  try {
    const head = await git("rev-parse", "--short", "HEAD");
    return (await git("status", "--porcelain")) === "" ? head : `${head}+`;
  } catch {
    return "unknown";
  }
}
