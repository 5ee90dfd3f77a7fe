import { afterAll, expect, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app.ts";
import { configSchema } from "../../src/config/config.ts";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import { lookAtProcess } from "../../src/load/pressure.ts";
import { offerOf } from "../../src/methods/offer.ts";
import { NO_CORPORA, NO_DATABASE } from "../support/no-database.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const running: RunningServer[] = [];
afterAll(() => Promise.all(running.map((server) => server.close())));

/** A server as it is put together in earnest, over parts that are or are not ready. */
async function statusesOf(database: boolean, model: boolean, load: object = {}) {
  const config = configSchema.parse({ auth: { mode: "none" }, server: { port: 0 }, load });
  const services = {
    config,
    offer: offerOf(config),
    database: { ...NO_DATABASE, isReachable: async () => database },
    corpora: NO_CORPORA,
    embedding: { ...testEmbeddingModel(), isReady: () => model },
    cursorKeys: new CursorKeys(NO_DATABASE),
    reranker: undefined,
    generator: undefined,
    fetcher: undefined,
    classifier: undefined,
    observe: () => {},
  };
  const server = await startServer({ services, operator: undefined, close: async () => {} });
  running.push(server);
  const status = async (path: string) => (await fetch(new URL(path, server.url))).status;
  return async () => ({ healthz: await status("/healthz"), readyz: await status("/readyz") });
}

const statuses = async (database: boolean, model: boolean) => (await statusesOf(database, model))();

test("a server is ready while its database and its embedding model are", async () => {
  expect(await statuses(true, true)).toEqual({ healthz: 200, readyz: 200 });
});

test("a server whose embedding model has crashed is alive and not ready", async () => {
  expect(await statuses(true, false)).toEqual({ healthz: 200, readyz: 503 });
});

test("a server whose database is out of reach is alive and not ready", async () => {
  expect(await statuses(false, true)).toEqual({ healthz: 200, readyz: 503 });
});

test("a server that has too much to do is alive and not ready", async () => {
  const { memoryShare } = lookAtProcess()();
  const now = await statusesOf(true, true, { shedding: { maxMemoryShare: memoryShare / 2 } });

  await expect.poll(now).toEqual({ healthz: 200, readyz: 503 });
});
