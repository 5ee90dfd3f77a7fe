import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";

/** One file of migrations/. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** sha256 of its text: a file that ran once is never edited. */
  readonly checksum: string;
  readonly text: string;
}

/** Beside src/ and beside dist/. */
const FOLDER = new URL("../../migrations/", import.meta.url);
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/** All migrations, in order. Their numbers run from 1 without a gap. */
export async function readMigrations(folder: URL = FOLDER): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (name, index) => {
      const version = Number(FILE_NAME.exec(name)?.[1]);
      if (version !== index + 1)
        throw new Error(`migrations/${name} should be number ${index + 1}, as in 0001_name.sql`);
      // A checkout may have turned line ends around; the statements are the same.
      const text = (await readFile(new URL(name, folder), "utf8")).replaceAll("\r\n", "\n");
      return { version, name, checksum: createHash("sha256").update(text).digest("hex"), text };
    }),
  );
}
