import { PostgreSqlContainer } from "@testcontainers/postgresql";
import { Wait } from "testcontainers";
import { startPgbouncer } from "./pgbouncer.ts";
import { PASSWORD } from "./template.ts";

/**
 * With `PGRCP_TEST_CONTAINERS=1`, starts one Postgres with pgvector for the whole test run and tells the test files by
 * `PGRCP_TEST_DATABASE_URL`. Needs a Docker engine. With `PGRCP_TEST_PGBOUNCER=1`, starts pgbouncer before whichever Postgres
 * there is, and the server's logins go through it.
 */
export default async function startPostgres(): Promise<() => Promise<void>> {
  const stops: (() => Promise<void>)[] = [];
  if (process.env.PGRCP_TEST_CONTAINERS === "1") {
    // The server says so twice: once for its own first start, once for good. Health checks need a timer that not every engine has.
    const ready = Wait.forLogMessage(/ready to accept connections/, 2);
    const container = await new PostgreSqlContainer("pgvector/pgvector:pg17").withWaitStrategy(ready).start();
    process.env.PGRCP_TEST_DATABASE_URL = container.getConnectionUri();
    stops.push(async () => {
      await container.stop();
    });
  }
  if (process.env.PGRCP_TEST_PGBOUNCER === "1") {
    const url = process.env.PGRCP_TEST_DATABASE_URL;
    if (url === undefined) throw new Error("PGRCP_TEST_PGBOUNCER needs a Postgres: set PGRCP_TEST_DATABASE_URL");
    const pooler = await startPgbouncer(url, PASSWORD);
    process.env.PGRCP_TEST_POOLER_URL = pooler.url;
    stops.push(pooler.close);
  }
  return async () => {
    for (const stop of stops.reverse()) await stop();
  };
}
