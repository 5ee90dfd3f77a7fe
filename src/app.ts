import type { AddressInfo } from "node:net";
import { type FirstRun, mintFirstRunTokens } from "./auth/first-run-keys.ts";
import { createTokenVerifier } from "./auth/jwt-verifier.ts";
import { authMode } from "./config/auth-mode.ts";
import type { Config } from "./config/config.ts";
import { CachedCorpusStore } from "./db/cached-corpus-store.ts";
import type { Database, OperatorDatabase } from "./db/database.ts";
import { openEmbedded } from "./db/embedded-database.ts";
import { migrate } from "./db/migrator.ts";
import { PostgresDatabase } from "./db/postgres-database.ts";
import { selfTest } from "./db/self-test.ts";
import { DatabaseSessionStore } from "./db/session-store.ts";
import { buildHttpServer } from "./http/server.ts";
import { advertisedBy } from "./methods/capabilities.ts";
import type { Services } from "./methods/handler.ts";
import { HANDLERS } from "./methods/index.ts";
import { offerOf } from "./methods/offer.ts";
import { loadEmbeddingModel } from "./models/load-embedding-model.ts";
import type { Observe } from "./observability/observation.ts";
import { columnValue } from "./plan/check-meta.ts";
import { createDispatcher } from "./rpc/dispatch.ts";
import { createSessions } from "./rpc/session.ts";

/** Everything that is open while the server runs, except the socket it listens on. */
export interface Backends {
  readonly services: Services;
  /** On the embedded database only: `serve` on Postgres never holds an operator's login. */
  readonly operator: OperatorDatabase | undefined;
  close(): Promise<void>;
}

/**
 * Opens the database and the model side by side and checks both. The embedded database is brought up to date on the way; Postgres
 * is only looked at, because its schema is `pgrcp migrate`'s.
 *
 * @throws StartupError, ModelFilesError: one line, one remedy
 */
export async function openBackends(config: Config, observe: Observe): Promise<Backends> {
  const [database, model] = await Promise.allSettled([
    openDatabase(config, observe),
    loadEmbeddingModel(config.models.embedding, observe),
  ]);
  const close = async () => {
    if (model.status === "fulfilled") await model.value.close();
    if (database.status === "fulfilled") await database.value.database.close();
  };
  if (database.status === "rejected" || model.status === "rejected") {
    await close();
    throw database.status === "rejected" ? database.reason : (model as PromiseRejectedResult).reason;
  }
  const services: Services = {
    config,
    offer: offerOf(config),
    database: database.value.database,
    corpora: new CachedCorpusStore(database.value.database),
    embedding: model.value,
    observe,
  };
  return { services, operator: database.value.operator, close };
}

async function openDatabase(
  config: Config,
  observe: Observe,
): Promise<{ database: Database; operator: OperatorDatabase | undefined }> {
  const { fields } = offerOf(config).add;
  if (config.database.url !== undefined) {
    const database = new PostgresDatabase(config.database.url, config, observe);
    try {
      await selfTest(database, fields, observe);
      return { database, operator: undefined };
    } catch (error) {
      await database.close();
      throw error;
    }
  }
  const { database, operator, admin } = await openEmbedded(config);
  try {
    await migrate(admin, { fields, columnValueOf: columnValue });
    await selfTest(database, fields, observe);
    return { database, operator };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export interface RunningServer {
  /** Of the default corpus: `http://host:port/rcp`. */
  readonly url: string;
  readonly firstRun: FirstRun | undefined;
  /** Lets what runs finish, up to `server.shutdownGraceMs`. */
  close(): Promise<void>;
}

/** Listens. On a first run it mints the four tokens first. */
export async function startServer(backends: Backends): Promise<RunningServer> {
  const { services } = backends;
  const { config, database, embedding, observe } = services;
  const firstRun =
    authMode(config.auth) === "first-run"
      ? await mintFirstRunTokens(config.database.embeddedDir, config.auth)
      : undefined;
  const sessions = createSessions(new DatabaseSessionStore(database, config.sessions), advertisedBy(services));
  const server = await buildHttpServer({
    config,
    verifier: createTokenVerifier(config.auth, { dev: firstRun?.issuer }),
    dispatcher: createDispatcher({ services, handlers: HANDLERS, sessions }),
    observe,
    isReady: async () => embedding.isReady() && (await database.isReachable(config.database.connectTimeoutMs)),
  });
  await server.listen({ host: config.server.host, port: config.server.port, backlog: config.server.maxConnections });
  const renewal = firstRun && setInterval(renewTokens(config, observe), RENEW_TOKENS_MS).unref();
  const url = config.server.publicUrl ?? addressOf(server.server.address() as AddressInfo, config);
  observe({ kind: "listening", url });
  return { url: `${url.replace(/\/$/, "")}/rcp`, firstRun, close };

  async function close(): Promise<void> {
    clearInterval(renewal);
    await server.close();
  }
}

/** First-run tokens live for a day. */
const RENEW_TOKENS_MS = 12 * 3_600_000;

const renewTokens = (config: Config, observe: Observe) => (): void => {
  mintFirstRunTokens(config.database.embeddedDir, config.auth).catch((error: unknown) =>
    observe({ kind: "internal-error", where: "first-run tokens", error }),
  );
};

function addressOf({ address, port, family }: AddressInfo, config: Config): string {
  const host = family === "IPv6" ? `[${address}]` : address;
  return `${config.server.tls === undefined ? "http" : "https"}://${host}:${port}`;
}
