import type { AddressInfo } from "node:net";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import type { TokenVerifier } from "../../src/auth/verify-token.ts";
import { type Config, configSchema } from "../../src/config/config.ts";
import type { CorpusStore } from "../../src/db/corpus-store.ts";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import type { Database } from "../../src/db/database.ts";
import { RefusalLog } from "../../src/db/refusal-log.ts";
import { DatabaseSessionStore } from "../../src/db/session-store.ts";
import { createFetcher } from "../../src/fetch/fetch-text.ts";
import { buildHttpServer } from "../../src/http/server.ts";
import { advertisedBy } from "../../src/methods/capabilities.ts";
import type { Handler, Services } from "../../src/methods/handler.ts";
import { offerOf } from "../../src/methods/offer.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import type { Reranker } from "../../src/models/reranker.ts";
import type { TextClassifier } from "../../src/models/text-classifier.ts";
import type { TextGenerator } from "../../src/models/text-generator.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { METHOD_NAMES, type MethodName } from "../../src/protocol/methods.ts";
import type { JsonRpcId } from "../../src/protocol/wire.ts";
import { createDispatcher } from "../../src/rpc/dispatch.ts";
import { createSessions } from "../../src/rpc/session.ts";
import { NO_CORPORA, NO_DATABASE } from "./no-database.ts";
import { PLAN_ONLY_HANDLERS } from "./plan-only-handlers.ts";
import { type RawAnswer, type RawRequest, sendRequest } from "./raw-http.ts";
import { testEmbeddingModel } from "./test-embedding.ts";
import { type TestIssuer, type TokenClaims, testIssuer } from "./test-issuer.ts";

export interface RcpServerParts {
  /** What `configSchema` reads; the issuer of tokens and the port are the server's own. */
  readonly config?: Readonly<Record<string, unknown>> & { readonly auth?: Readonly<Record<string, unknown>> };
  /** `PLAN_ONLY_HANDLERS` when absent. */
  readonly handlers?: { readonly [name in MethodName]?: Handler | undefined };
  /** For tests whose handlers or sessions reach one; `NO_DATABASE` when absent. */
  readonly database?: Database;
  readonly corpora?: CorpusStore;
  readonly embedding?: EmbeddingModel;
  readonly reranker?: Reranker;
  readonly generator?: TextGenerator;
  readonly classifier?: TextClassifier;
  /** To share one between servers; a new one when absent. */
  readonly issuer?: TestIssuer;
  /** The verifier of tokens that `issuer` mints, when absent. */
  readonly verifier?: TokenVerifier;
  readonly isReady?: () => Promise<boolean>;
  /** None when absent. */
  readonly pressure?: { readonly isHigh: boolean };
}

export interface CallOptions {
  readonly token?: string;
  readonly session?: string;
  readonly id?: JsonRpcId;
  readonly corpus?: string;
}

export interface RpcAnswer extends RawAnswer {
  /** The parsed body; undefined when there was none, or an event stream. */
  readonly body: Response | undefined;
}

/** A JSON-RPC response as a test reads it. */
export interface Response {
  readonly jsonrpc?: "2.0";
  readonly id?: JsonRpcId | null;
  readonly result?: Readonly<Record<string, unknown>> & { readonly _meta?: Readonly<Record<string, unknown>> };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}

export interface RcpServer {
  readonly port: number;
  readonly url: string;
  readonly config: Config;
  readonly issuer: TestIssuer;
  readonly observations: Observation[];
  token(claims?: TokenClaims): Promise<string>;
  /** Opens a session with the token and gives its RCP-Session value. */
  initialize(token: string): Promise<string>;
  /** One call, as a client makes it. */
  call(method: string, params?: unknown, options?: CallOptions): Promise<RpcAnswer>;
  /** Any body at any path, with good headers. */
  post(path: string, body: string | Uint8Array, options?: CallOptions): Promise<RpcAnswer>;
  send(request: RawRequest): Promise<RpcAnswer>;
  /** What comes before `close`: it is not ready any more, and goes on answering. */
  drain(): void;
  close(): Promise<void>;
}

/** Nothing is built. */
export const NO_HANDLERS = Object.fromEntries(METHOD_NAMES.map((name) => [name, undefined])) as Record<
  MethodName,
  undefined
>;

/** A real server on a free loopback port, with real tokens; database and model are the test's. */
export async function startRcpServer(parts: RcpServerParts = {}): Promise<RcpServer> {
  const issuer = parts.issuer ?? (await testIssuer());
  const { auth, ...settings } = parts.config ?? {};
  const issuers = [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }];
  const config = configSchema.parse({ ...settings, auth: { ...auth, issuers } });
  const observations: Observation[] = [];
  const observe = (observation: Observation) => void observations.push(observation);
  const { database = NO_DATABASE, corpora = NO_CORPORA, embedding = testEmbeddingModel() } = parts;
  const services: Services = {
    config,
    offer: offerOf(config, parts),
    database,
    corpora,
    embedding,
    cursorKeys: new CursorKeys(database),
    reranker: parts.reranker,
    generator: parts.generator,
    fetcher: config.fetch.enabled ? createFetcher(config) : undefined,
    classifier: parts.classifier,
    observe,
  };
  const store = new DatabaseSessionStore(database, config.sessions);
  const sessions = createSessions(store, advertisedBy(services));
  const handlers = { ...NO_HANDLERS, ...(parts.handlers ?? PLAN_ONLY_HANDLERS) };
  const refusals = new RefusalLog(database, observe);
  const dispatcher = createDispatcher({ services, handlers, sessions, refusals });
  const verifier = parts.verifier ?? createTokenVerifier(config.auth);
  const isReady = parts.isReady ?? (async () => true);
  const draining = new AbortController();
  const server = await buildHttpServer({
    ...{ config, verifier, dispatcher, observe, isReady, draining: draining.signal },
    pressure: parts.pressure ?? { isHigh: false },
  });
  await server.listen({ host: "127.0.0.1", port: 0, backlog: config.server.maxConnections });
  const { port } = server.server.address() as AddressInfo;

  const send = async (request: RawRequest): Promise<RpcAnswer> => {
    const answer = await sendRequest(port, request);
    return { ...answer, body: isJson(answer) ? JSON.parse(answer.text) : undefined };
  };
  const post: RcpServer["post"] = async (path, body, { token, session } = {}) =>
    send({
      path,
      body,
      headers: [
        ["authorization", `Bearer ${token ?? (await issuer.mint())}`],
        ["content-type", "application/json"],
        ...(session === undefined ? [] : [["rcp-session", session] as const]),
      ],
    });
  const call: RcpServer["call"] = (method, params = {}, options = {}) => {
    const base = options.corpus === undefined ? "/rcp" : `/corpora/${options.corpus}/rcp`;
    return post(`${base}/${method}`, JSON.stringify({ jsonrpc: "2.0", id: options.id ?? 1, method, params }), options);
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    config,
    issuer,
    observations,
    drain: () => draining.abort(),
    token: (claims) => issuer.mint(claims),
    async initialize(token) {
      const { body } = await call("initialize", { protocolVersion: 1, client: { name: "test" } }, { token });
      return String(body?.result?._meta?.session);
    },
    call,
    post,
    send,
    async close() {
      await server.close();
      await refusals.close();
    },
  };
}

const isJson = ({ headers, text }: RawAnswer): boolean =>
  text !== "" && headers["content-type"] !== "text/event-stream";
