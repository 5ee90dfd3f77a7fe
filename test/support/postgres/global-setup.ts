import { PostgreSqlContainer } from "@testcontainers/postgresql";
import { Wait } from "testcontainers";

/**
 * With `PGRCP_TEST_CONTAINERS=1`, starts one Postgres with pgvector for the whole test run and tells the test files by
 * `PGRCP_TEST_DATABASE_URL`. Needs a Docker engine.
 */
export default async function startPostgres(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.PGRCP_TEST_CONTAINERS !== "1") return undefined;
  // The server says so twice: once for its own first start, once for good. Health checks need a timer that not every engine has.
  const ready = Wait.forLogMessage(/ready to accept connections/, 2);
  const container = await new PostgreSqlContainer("pgvector/pgvector:pg17").withWaitStrategy(ready).start();
  process.env.PGRCP_TEST_DATABASE_URL = container.getConnectionUri();
  return async () => {
    await container.stop();
  };
}
