import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../src/config/config.ts";
import { type Embedded, embeddedOver } from "../../src/db/embedded-database.ts";
import { EmbeddedEngine } from "../../src/db/embedded-engine.ts";
import { readMigrations } from "../../src/db/migrations.ts";
import { migrate } from "../../src/db/migrator.ts";

/**
 * A fresh embedded database takes seconds, a copy of a migrated one well under one: the first test file makes a template, named
 * after everything that it depends on.
 */

const ENGINE = new URL("../../node_modules/@electric-sql/pglite/package.json", import.meta.url);

async function templateFile(): Promise<string> {
  const hash = createHash("sha256").update(await readFile(ENGINE));
  for (const { checksum } of await readMigrations()) hash.update(checksum);
  return join(tmpdir(), `pgrcp-test-template-${hash.digest("hex").slice(0, 16)}.tar`);
}

async function build(file: string): Promise<void> {
  const engine = await EmbeddedEngine.open({}, { waitMs: 60_000 });
  const { admin } = embeddedOver(engine, async () => {});
  await migrate(admin, { fields: new Map(), columnValueOf: () => null });
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, await engine.dump());
  await rename(unfinished, file);
  await engine.close();
}

/** Test files run side by side; one builds, the others wait. A builder that died is not waited for longer than a minute. */
export async function embeddedTemplate(): Promise<string> {
  const file = await templateFile();
  const mark = `${file}.building`;
  for (let waited = 0; !existsSync(file); waited += 100) {
    const mine = await mkdir(mark).then(
      () => true,
      () => waited > 60_000,
    );
    if (mine) {
      try {
        await build(file);
      } finally {
        await rmdir(mark).catch(() => {});
      }
    } else await sleep(100);
  }
  return file;
}

export async function openEmbeddedCopy(
  config: Config,
): Promise<Embedded & { config: Config; close: () => Promise<void> }> {
  const engine = await EmbeddedEngine.open({ dump: await embeddedTemplate() }, { waitMs: config.database.poolWaitMs });
  const embedded = embeddedOver(engine, async () => {});
  return { ...embedded, config, close: () => embedded.database.close() };
}
