import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { configSchema } from "../../../src/config/config.ts";
import { openEmbedded } from "../../../src/db/embedded-database.ts";
import { embeddedTemplate } from "../embedded-template.ts";
import { type CorpusRows, readCorpusRows } from "./corpus-rows.ts";
import type { Deployment } from "./deployment.ts";

const run = promisify(execFile);
const KILLER = new URL("./log-write-kill.ts", import.meta.url);

/** An embedded database in a folder, migrated and empty. */
export async function embeddedDeployment(folder: string): Promise<Deployment> {
  const embeddedDir = join(folder, "database");
  const data = join(embeddedDir, "data");
  const orderFile = join(folder, "kill-at-commit");
  await mkdir(data, { recursive: true });
  await run("tar", ["-xf", await embeddedTemplate(), "-C", data]);
  let copies = 0;
  return {
    kind: "embedded",
    settings: { embeddedDir },
    env: { NODE_OPTIONS: `--import ${KILLER.href}`, CRASH_ORDER_FILE: orderFile },
    async killAtCommit(point) {
      await writeFile(`${orderFile}.new`, point);
      await rename(`${orderFile}.new`, orderFile);
    },
    async snapshot() {
      await rm(orderFile, { force: true });
      if (!existsSync(join(embeddedDir, "lock"))) throw new Error("the server has left no lock to take over");
      copies += 1;
      const copy = join(folder, `copy-${copies}`);
      await mkdir(copy);
      await run("cp", ["-R", data, join(copy, "data")]);
      return () => readCopy(copy);
    },
    async close() {},
  };
}

async function readCopy(embeddedDir: string): Promise<CorpusRows> {
  const { database, admin } = await openEmbedded(configSchema.parse({ database: { embeddedDir } }));
  try {
    return await readCorpusRows(admin);
  } finally {
    await database.close();
    await rm(embeddedDir, { recursive: true });
  }
}
