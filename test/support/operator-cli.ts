import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControlSocket } from "../../src/cli/control-socket.ts";
import { type Config, configSchema } from "../../src/config/config.ts";
import { type CliResult, runCli } from "../cli/run-cli.ts";
import { openTestDatabase, type TestDatabase } from "./database.ts";
import { testEmbeddingModel } from "./test-embedding.ts";

/** The operator's commands, run as child processes beside a server that has the database open. */
export interface OperatorCli {
  readonly db: TestDatabase;
  /** Where the commands run. */
  readonly folder: string;
  pgrcp(...args: readonly string[]): Promise<CliResult>;
  close(): Promise<void>;
}

/** @param settings the server's, besides its folder */
export async function openOperatorCli(
  settings: { readonly feedback?: Partial<Config["feedback"]> } = {},
): Promise<OperatorCli> {
  const db = await openTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-operator-"));
  const config = configSchema.parse({ ...settings, database: { embeddedDir: folder } });
  const socket = await startControlSocket(config, db.operator, { embedding: testEmbeddingModel() });
  return {
    db,
    folder,
    pgrcp: (...args) => runCli(args, folder, { PGRCP_DATABASE__EMBEDDEDDIR: folder }),
    async close() {
      await socket.close();
      await db.close();
      await rm(folder, { recursive: true });
    },
  };
}
