import type { AddressInfo } from "node:net";
import { basename, dirname } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { type FirstRun, mintFirstRunTokens } from "./auth/first-run-keys.ts";
import { createTokenVerifier } from "./auth/jwt-verifier.ts";
import { closeTogether } from "./closing.ts";
import { authMode } from "./config/auth-mode.ts";
import type { Config } from "./config/config.ts";
import { CachedCorpusStore } from "./db/cached-corpus-store.ts";
import { checkStoredSpaces } from "./db/check-space.ts";
import { CursorKeys } from "./db/cursor-keys.ts";
import type { Database, OperatorDatabase } from "./db/database.ts";
import { openEmbedded } from "./db/embedded-database.ts";
import { type MigrateOptions, migrate } from "./db/migrator.ts";
import { PostgresDatabase } from "./db/postgres-database.ts";
import { RefusalLog } from "./db/refusal-log.ts";
import { selfTest } from "./db/self-test.ts";
import { DatabaseSessionStore } from "./db/session-store.ts";
import { StartupError } from "./db/startup-error.ts";
import { checkLanguage } from "./environment-checks.ts";
import { createFetcher } from "./fetch/fetch-text.ts";
import { ownUrl } from "./http/own-url.ts";
import { buildHttpServer } from "./http/server.ts";
import { Pressure } from "./load/pressure.ts";
import { keepCollecting } from "./maintenance/collect.ts";
import { advertisedBy } from "./methods/capabilities.ts";
import type { Services } from "./methods/handler.ts";
import { HANDLERS } from "./methods/index.ts";
import { offerOf } from "./methods/offer.ts";
import { cachedQueries } from "./models/cached-queries.ts";
import { httpClassifier } from "./models/http-classifier.ts";
import { httpReranker } from "./models/http-reranker.ts";
import { loadEmbeddingModel } from "./models/load-embedding-model.ts";
import { openAiGenerator } from "./models/openai-generator.ts";
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
 * @param report told what is done to the embedded database; may throw to stop it between two steps
 * @throws ExpectedFailure: one line, one remedy
 */
export async function openBackends(
  config: Config,
  observe: Observe,
  report?: MigrateOptions["report"],
): Promise<Backends> {
  checkLanguage(config.indexing);
  const [database, model] = await Promise.allSettled([
    openDatabase(config, observe, report),
    loadEmbeddingModel(config.models.embedding, observe),
  ]);
  const reranker = config.models.reranker && httpReranker(config.models.reranker);
  const generator = config.models.generator && openAiGenerator(config.models.generator);
  const classifier = config.models.classifier && httpClassifier(config.models.classifier);
  const close = () =>
    closeTogether(
      ...[reranker, generator, classifier].flatMap((one) => (one === undefined ? [] : [() => one.close()])),
      ...(model.status === "fulfilled" ? [() => model.value.close()] : []),
      ...(database.status === "fulfilled" ? [() => database.value.database.close()] : []),
    );
  if (database.status === "rejected" || model.status === "rejected") {
    await close().catch(() => {}); // why it could not be opened says more
    throw database.status === "rejected" ? database.reason : (model as PromiseRejectedResult).reason;
  }
  const { operator } = database.value;
  const [otherModel] = operator === undefined ? [] : await checkStoredSpaces(operator, model.value.space);
  if (otherModel !== undefined) {
    await close().catch(() => {}); // what was found says more
    throw new StartupError(otherModel.line, otherModel.remedy);
  }
  const services: Services = {
    config,
    offer: offerOf(config, { reranker, generator }),
    database: database.value.database,
    corpora: new CachedCorpusStore(database.value.database),
    embedding: cachedQueries(model.value, config.retrieval.queryCacheBytes),
    cursorKeys: new CursorKeys(database.value.database),
    reranker,
    generator,
    fetcher: config.fetch.enabled ? createFetcher(config) : undefined,
    classifier,
    observe,
  };
  return { services, operator, close };
}

const EMBEDDED_LIMITS =
  "the embedded database is for one person on one machine: it has one connection, its roles are kept apart by settings " +
  "alone, and a query that runs cannot be stopped; a server for others needs Postgres (database.url)";

async function openDatabase(
  config: Config,
  observe: Observe,
  report: MigrateOptions["report"],
): Promise<{ database: Database; operator: OperatorDatabase | undefined }> {
  const { fields } = offerOf(config).add;
  if (config.database.url !== undefined) {
    const database = new PostgresDatabase(config.database.url, config, observe);
    try {
      await selfTest(database, fields, observe, config.database.trustedRoutines);
      return { database, operator: undefined };
    } catch (error) {
      await database.close().catch(() => {});
      throw error;
    }
  }
  const { database, operator, admin } = await openEmbedded(config, observe);
  try {
    await migrate(admin, { fields, columnValueOf: columnValue, ...(report && { report }) });
    await selfTest(database, fields, observe, config.database.trustedRoutines);
    observe({ kind: "warning", text: EMBEDDED_LIMITS });
    return { database, operator };
  } catch (error) {
    await database.close().catch(() => {});
    throw error;
  }
}

export interface RunningServer {
  /** Of the default corpus: `http://host:port/rcp`. */
  readonly url: string;
  readonly firstRun: FirstRun | undefined;
  /**
   * Says that it is not ready, goes on serving for `drainMs`, so that whoever balances load can look elsewhere, then closes its
   * socket and lets what runs finish for up to `server.shutdownGraceMs`.
   */
  close(drainMs?: number): Promise<void>;
}

/** Listens; before that, a first run's four tokens are minted. From then on the embedded database is collected. */
export async function startServer(backends: Backends): Promise<RunningServer> {
  const { services, operator } = backends;
  const { config, database, embedding, observe } = services;
  const firstRun =
    authMode(config.auth) === "first-run"
      ? await mintFirstRunTokens(config.database.embeddedDir, config.auth)
      : undefined;
  if (firstRun !== undefined) observe({ kind: "warning", text: firstRunNotice(firstRun) });
  const sessions = createSessions(new DatabaseSessionStore(database, config.sessions), advertisedBy(services));
  const refusals = new RefusalLog(database, observe);
  const draining = new AbortController();
  const pressure = pressureOf(config.load.shedding, observe);
  const server = await buildHttpServer({
    config,
    draining: draining.signal,
    pressure,
    verifier: createTokenVerifier(config.auth, { dev: firstRun?.issuer }),
    dispatcher: createDispatcher({ services, handlers: HANDLERS, sessions, refusals }),
    observe,
    isReady: async () =>
      !pressure.isHigh && embedding.isReady() && (await database.isReachable(config.database.connectTimeoutMs)),
  });
  await server.listen({ host: config.server.host, port: config.server.port, backlog: config.server.maxConnections });
  const endCollecting = operator && keepCollecting(operator, config.retention, collectFailed(observe));
  const renewal = firstRun && setInterval(renewTokens(config, observe), RENEW_TOKENS_MS).unref();
  const url = ownUrl(config.server, server.server.address() as AddressInfo);
  observe({ kind: "listening", url });
  return { url: `${url}/rcp`, firstRun, close };

  async function close(drainMs = 0): Promise<void> {
    clearInterval(renewal);
    draining.abort();
    await endCollecting?.();
    await sleep(drainMs);
    // Right after the turn of the event loop that took every connection which had come.
    await nextTurn();
    await server.close();
    pressure.close();
    await refusals.close();
  }
}

const firstRunNotice = ({ tokenFiles }: FirstRun): string =>
  `the tokens in ${dirname(tokenFiles.read)} are for this machine only, and ${basename(tokenFiles.all)} may read, add and delete ` +
  "alike; a server for others needs auth.issuers";

function pressureOf(settings: Config["load"]["shedding"], observe: Observe): Pick<Pressure, "isHigh" | "close"> {
  if (!settings.enabled) return { isHigh: false, close: () => {} };
  const { maxEventLoopDelayMs, maxMemoryShare } = settings;
  return new Pressure({ eventLoopDelayMs: maxEventLoopDelayMs, memoryShare: maxMemoryShare }, observe);
}

const collectFailed =
  (observe: Observe) =>
  (error: unknown): void =>
    observe({ kind: "internal-error", where: "retention", error });

/** First-run tokens live for a day. */
const RENEW_TOKENS_MS = 12 * 3_600_000;

const renewTokens = (config: Config, observe: Observe) => (): void => {
  mintFirstRunTokens(config.database.embeddedDir, config.auth).catch((error: unknown) =>
    observe({ kind: "internal-error", where: "first-run tokens", error }),
  );
};
