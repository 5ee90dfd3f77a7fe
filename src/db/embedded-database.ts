import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { type AdminConnection, LeasedAdminConnection } from "./admin-connection.ts";
import { claimDataDirectory } from "./data-directory.ts";
import type { Database, OperatorDatabase } from "./database.ts";
import { EmbeddedEngine } from "./embedded-engine.ts";
import { EmbeddedSource } from "./embedded-source.ts";
import type { ConnectionRole } from "./lease.ts";
import { LeasedOperatorDatabase } from "./operator-database.ts";
import { RoleDatabase } from "./role-database.ts";
import { StartupError } from "./startup-error.ts";

/** One open data directory: the server's view, the operator's, and the migrator's. Closing `database` closes them all. */
export interface Embedded {
  readonly database: Database;
  readonly operator: OperatorDatabase;
  readonly admin: AdminConnection;
}

/**
 * The embedded database: Postgres in a worker thread, one connection, no real boundary between roles (DESIGN section 4).
 *
 * @param release runs once the engine is closed, or could not be
 */
export function embeddedOver(engine: EmbeddedEngine, release: () => Promise<void>): Embedded {
  const as = (role: ConnectionRole) => new EmbeddedSource(engine, role);
  const sources = { reader: as("reader"), adder: as("adder"), deleter: as("deleter"), state: as("state") };
  return {
    database: new RoleDatabase("embedded", sources, () => engine.close().finally(release)),
    operator: new LeasedOperatorDatabase(as("operator"), { hold: true, close: async () => {} }),
    admin: new LeasedAdminConnection(as("migrate"), async () => {}),
  };
}

/**
 * Opens `database.embeddedDir`, making it when it is not there. Only one process may: the directory is locked until `close`.
 *
 * @throws StartupError when another process has it, when it was written by another engine version, or when it cannot be opened
 */
export async function openEmbedded({ database }: Config, observe: Observe = () => {}): Promise<Embedded> {
  const claim = await claimDataDirectory(database.embeddedDir);
  try {
    const engine = await EmbeddedEngine.open(
      { dataDir: join(database.embeddedDir, "data") },
      { waitMs: database.poolWaitMs, observe },
    );
    await claim.recordEngine();
    return embeddedOver(engine, claim.release);
  } catch (cause) {
    await claim.release();
    throw new StartupError(
      `the embedded database in ${database.embeddedDir} cannot be opened`,
      "move the folder away to start with an empty one, or restore it from a backup",
      undefined,
      { cause },
    );
  }
}
