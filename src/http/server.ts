import type { IncomingMessage } from "node:http";
import cors from "@fastify/cors";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { restTools } from "../adapters/rest-tools.ts";
import type { TokenVerifier } from "../auth/verify-token.ts";
import { addressRanges } from "../config/address-ranges.ts";
import type { Config } from "../config/config.ts";
import type { Pressure } from "../load/pressure.ts";
import type { Observe } from "../observability/observation.ts";
import type { Dispatcher } from "../rpc/dispatch.ts";
import { answerError } from "./answer-error.ts";
import { authenticate } from "./authenticate.ts";
import { checkBodyHeaders } from "./check-body-headers.ts";
import { bareAddress } from "./client-address.ts";
import { trackConnections } from "./connections.ts";
import { addGracefulClose } from "./graceful-close.ts";
import { headerValues } from "./header-values.ts";
import { addHealthRoutes } from "./health-route.ts";
import { addMcpRoute } from "./mcp-route.ts";
import { addMetadataRoute } from "./metadata-route.ts";
import { answerClientError, createNodeServer } from "./node-server.ts";
import { isOwnUrlKnown } from "./own-url.ts";
import { rateLimits } from "./rate-limit.ts";
import { addRcpRoute } from "./rcp-route.ts";
import { resourceMetadata } from "./resource-metadata.ts";
import { addManifestRoute, addToolRoute } from "./rest-routes.ts";
import { securityHeaders } from "./security-headers.ts";
import { shedLoad } from "./shed-load.ts";
import { readTarget, type Target } from "./target.ts";
import { TransportRefusal } from "./transport-refusal.ts";

export interface HttpServerOptions {
  readonly config: Config;
  readonly verifier: TokenVerifier;
  readonly dispatcher: Dispatcher;
  readonly observe: Observe;
  /** True when requests can be served: database reachable, model running. */
  readonly isReady: () => Promise<boolean>;
  /** Aborts when the server is about to close: it is not ready any more, and goes on answering. */
  readonly draining: AbortSignal;
  readonly pressure: Pick<Pressure, "isHigh">;
}

/**
 * The HTTP server, not listening yet: `listen({ host, port })` starts it, `close()` lets what runs finish for up to
 * `server.shutdownGraceMs` and then cuts it off.
 *
 * A call's way: route → rate of its address → authenticate → rate of its principal → load → headers of the body → body → dispatcher.
 */
export async function buildHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const { config, verifier, dispatcher, observe, isReady, draining, pressure } = options;
  const nodeServer = createNodeServer(config.server);
  const connections = trackConnections(nodeServer, {
    max: config.server.maxConnectionsPerAddress,
    exempt: config.server.trustedProxies,
  });
  const isProxy = addressRanges(config.server.trustedProxies);
  const metadata = resourceMetadata(config);
  const tools = config.doors.rest ? restTools(config) : new Map<string, never>();
  const isServed = (target: Target): boolean => {
    switch (target.kind) {
      case "metadata":
        return metadata?.documentAt(target.suffix) !== undefined;
      case "manifest":
        return config.doors.rest && isOwnUrlKnown(config.server);
      case "tool":
        return tools.has(target.name);
      case "mcp":
        return config.doors.mcp;
      case "rcp":
      case "healthz":
      case "readyz":
      case "malformed":
      case "unknown":
        return true;
    }
  };
  const targetOf = (url: string): Target => {
    const target = readTarget(url);
    return isServed(target) ? target : { kind: "unknown" };
  };
  const server = Fastify({
    serverFactory: (listener) => nodeServer.on("request", listener),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, connections),
    trustProxy: (hop: string) => isProxy(bareAddress(hop)),
    // The target is read undecoded, by readTarget alone; Fastify's router sees only the name of what it leads to.
    rewriteUrl: ({ url }) => `/${targetOf(url ?? "").kind}`,
    return503OnClosing: false,
    // What closes takes as long as the grace, which may be longer than Fastify waits.
    pluginTimeout: 0,
  });
  const onError = answerError(observe);
  server.setErrorHandler((error, _request, reply) => onError(error, reply));
  server.removeAllContentTypeParsers();
  addCommonHeaders(server, {
    ...(await securityHeaders({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"] } },
      // Only for this host: what stands beside it in the domain is not this server's to decide.
      strictTransportSecurity: isBehindTls(config.server) && { maxAge: HSTS_SECONDS, includeSubDomains: false },
    })),
    // A tenant's rows must not be kept by a proxy.
    "cache-control": "no-store",
  });
  addGracefulClose(server, connections, config.server.shutdownGraceMs);
  await addCors(server, config.cors);
  const limits = await rateLimits(server, config.rateLimit, observe);
  addUnroutedAnswers(server, targetOf);
  addHealthRoutes(server, isReady, draining);
  if (metadata !== undefined) addMetadataRoute(server, metadata, limits.byAddress);
  await server.register(async (authenticated) => {
    authenticated.addHook("onRequest", limits.byAddress);
    authenticated.addHook("onRequest", authenticate(verifier, config.auth.jwksCooldownMs, metadata, observe));
    authenticated.addHook("onRequest", limits.byPrincipal);
    addManifestRoute(authenticated, { config, tools });
    await authenticated.register(async (calls) => {
      calls.addHook("onRequest", shedLoad(pressure));
      calls.addHook("onRequest", checkBodyHeaders);
      // A body is read in its handler, as bytes: Fastify's own reader has one limit for all, and its JSON parser strips a byte order
      // mark and answers errors in its own shape.
      calls.addContentTypeParser("application/json", (_request, _payload, done) => done(null));
      addRcpRoute(calls, {
        dispatcher,
        limits,
        pace: config.server,
        bodyLimits: config.server,
        streaming: config.capabilities.streaming ? config.streaming : undefined,
      });
      addToolRoute(calls, { config, tools, dispatcher, observe });
      addMcpRoute(calls, config, { dispatcher, observe, maxJsonDepth: config.limits.maxJsonDepth });
    });
  });
  return server;
}

/** Lets pages of the listed origins call. Exact origins only, and never with cookies: a token is sent on purpose or not at all. */
async function addCors(server: FastifyInstance, { origins, maxAgeSeconds }: Config["cors"]): Promise<void> {
  if (origins.length === 0) return;
  await server.register(cors, {
    origin: [...origins],
    methods: ["POST"],
    allowedHeaders: ["authorization", "content-type", "accept", "rcp-session", ...MCP_HEADERS],
    exposedHeaders: ["retry-after", "ratelimit", "ratelimit-policy", "www-authenticate"],
    maxAge: maxAgeSeconds,
    strictPreflight: false,
  });
}

const MCP_HEADERS = ["mcp-protocol-version", "mcp-method", "mcp-name"];

const HSTS_SECONDS = 31_536_000;

const isBehindTls = ({ tls, behindTls }: Config["server"]): boolean => tls !== undefined || behindTls;

/** Far above what any client sends; Node would drop the ones past its own number without a word. */
const MAX_HEADERS = 1_000;

const ALLOW: Partial<Record<Target["kind"], string>> = {
  rcp: "POST, OPTIONS",
  tool: "POST, OPTIONS",
  manifest: "GET, HEAD",
  mcp: "POST, OPTIONS",
  healthz: "GET, HEAD",
  readyz: "GET, HEAD",
  metadata: "GET, HEAD",
};

/** What no route takes is answered from its head alone: whatever a body there is said to be, nobody asked for it. */
function addUnroutedAnswers(server: FastifyInstance, targetOf: (url: string) => Target): void {
  server.addHook("onRequest", (request, reply, done) => {
    if (request.is404) answerUnrouted(request, reply, targetOf(request.originalUrl));
    else done();
  });
}

/** 400 for a target that cannot be decoded, 404 off every base, else 405, or 204 to OPTIONS. */
function answerUnrouted(request: FastifyRequest, reply: FastifyReply, { kind }: Target): void {
  const allow = ALLOW[kind];
  if (kind === "malformed") reply.code(400);
  else if (allow === undefined) reply.code(404);
  else reply.header("allow", allow).code(request.method === "OPTIONS" ? 204 : 405);
  reply.send();
}

/** To Fastify and not to the response itself, which Node writes at one go as long as nothing was set on it. */
function addCommonHeaders(server: FastifyInstance, headers: Readonly<Record<string, string>>): void {
  server.addHook("onRequest", ({ raw }, reply, done) => {
    reply.headers(headers);
    // RFC 9112 §3.2, §6.1: what a proxy in front may have read in another way.
    if (headerValues(raw, "host").length > 1 || !isPlainlyFramed(raw))
      throw new TransportRefusal(400, { connection: "close" });
    if (raw.rawHeaders.length > 2 * MAX_HEADERS) throw new TransportRefusal(431, { connection: "close" });
    done();
  });
}

/** Without a transfer coding, or with chunks alone, which HTTP/1.0 does not have. */
function isPlainlyFramed(raw: IncomingMessage): boolean {
  const codings = headerValues(raw, "transfer-encoding");
  return codings.length === 0 || (raw.httpVersion === "1.1" && codings.join().toLowerCase() === "chunked");
}
