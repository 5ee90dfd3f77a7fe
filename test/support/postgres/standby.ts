import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Cluster {
  readonly url: string;
  readonly port: number;
  /** As a crash would: nothing is told to anybody. */
  kill(): void;
  /** After a crash. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

async function cluster(command: "start" | "standby", primary?: string): Promise<Cluster & { readonly folder: string }> {
  const env = (folder: string | undefined) => ({ env: { ...process.env, PGRCP_TEST_CLUSTER: folder } });
  const { stdout } = await run("scripts/temp-postgres", [command], env(primary));
  const folder = /PGRCP_TEST_CLUSTER=(\S+)/.exec(stdout)?.[1] ?? "";
  const url = /PGRCP_TEST_DATABASE_URL=(\S+)/.exec(stdout)?.[1] ?? "";
  return {
    folder,
    url,
    port: Number(new URL(url).port),
    kill: () => {
      process.kill(Number(readFileSync(`${folder}/data/postmaster.pid`, "utf8").split("\n")[0]), "SIGQUIT");
    },
    resume: async () => {
      await run("scripts/temp-postgres", ["resume"], env(folder));
    },
    stop: async () => {
      await run("scripts/temp-postgres", ["stop"], env(folder));
    },
  };
}

/** A Postgres with a streaming hot standby, both of the test's own. */
export async function primaryAndStandby(): Promise<{ readonly primary: Cluster; readonly standby: Cluster }> {
  const primary = await cluster("start");
  try {
    return { primary, standby: await cluster("standby", primary.folder) };
  } catch (error) {
    await primary.stop();
    throw error;
  }
}
