import type { FilterFields } from "../../src/catalog/corpus.ts";
import { type Config, configSchema } from "../../src/config/config.ts";
import type { AdminConnection } from "../../src/db/admin-connection.ts";
import type { Database, OperatorDatabase } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrator.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { columnValue } from "../../src/plan/check-meta.ts";
import { openEmbeddedCopy } from "./embedded-template.ts";
import { openPostgresCopy } from "./postgres/template.ts";

/** A throw-away database with every migration applied, for one test file. */
export interface TestDatabase {
  readonly kind: Database["kind"];
  readonly database: Database;
  readonly operator: OperatorDatabase;
  /** The owner of everything, under no policy: for preparing and for looking, never for the claim itself. */
  readonly admin: AdminConnection;
  /** With a URL and logins on Postgres. */
  readonly config: Config;
  /** What the database has reported so far. */
  readonly observations: readonly Observation[];
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Filter fields to have columns for; none by default. */
  readonly fields?: FilterFields;
  /** Settings of the `database` section. */
  readonly database?: Partial<Config["database"]>;
}

/**
 * Opens a throw-away, migrated database.
 *
 * The embedded one by default, in memory. With `PGRCP_TEST_DATABASE_URL` (a superuser's URL), a fresh database in that cluster.
 */
export async function openTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const observations: Observation[] = [];
  const url = process.env.PGRCP_TEST_DATABASE_URL;
  const opened =
    url === undefined
      ? await openEmbeddedCopy(configSchema.parse({ database: options.database }))
      : await openPostgresCopy(url, options.database ?? {}, (observation) => observations.push(observation));
  if (options.fields !== undefined) {
    await migrate(opened.admin, { fields: options.fields, columnValueOf: columnValue });
  }
  return { ...opened, kind: opened.database.kind, observations };
}
