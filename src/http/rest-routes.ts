import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { callThroughDoor } from "../adapters/door-call.ts";
import { restAnswer } from "../adapters/rest-answer.ts";
import { readRestCall } from "../adapters/rest-call.ts";
import { restManifest } from "../adapters/rest-manifest.ts";
import type { RestTool } from "../adapters/rest-tools.ts";
import { mayReach } from "../auth/principal.ts";
import { authMode } from "../config/auth-mode.ts";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { unauthorized } from "../protocol/errors.ts";
import type { Dispatcher } from "../rpc/dispatch.ts";
import { principalOf, seconds } from "./authenticate.ts";
import { goneSignal } from "./gone-signal.ts";
import { ownUrl } from "./own-url.ts";
import { bodyLimit, readBody } from "./read-body.ts";
import { sendAnswer, sendJson } from "./reply.ts";
import { readTarget } from "./target.ts";
import { TransportRefusal } from "./transport-refusal.ts";

export interface RestParts {
  readonly config: Pick<Config, "auth" | "server">;
  readonly tools: ReadonlyMap<string, RestTool>;
  readonly dispatcher: Dispatcher;
  readonly observe: Observe;
}

/**
 * Adds `GET /manifest`, which shows what the caller's token may do. It needs one: the protocol's client sends its token there as it does
 * to tools, and what a server offers is nobody's business without.
 */
export function addManifestRoute(
  server: FastifyInstance,
  { config, tools }: Omit<RestParts, "dispatcher" | "observe">,
): void {
  const needsToken = authMode(config.auth) !== "none";
  server.get("/manifest", async (request, reply) => {
    const target = readTarget(request.originalUrl);
    if (target.kind !== "manifest") throw new Error("only manifests are routed here");
    const principal = principalOf(request);
    // Of the token alone: whether there is such a corpus is not looked at.
    if (!mayReach(principal, target.corpus)) throw new TransportRefusal(403, {}, unauthorized());
    const shown = [...tools.values()].filter(({ credential }) => principal.credentials.has(credential));
    const url = ownUrl(config.server, server.server.address() as AddressInfo);
    return sendJson(reply, JSON.stringify(restManifest(shown, `${url}${target.base}/v1`, needsToken)));
  });
}

/** Adds `POST /tool`, which every target of a tool is routed to: a call of the REST Connector Protocol, answered by the dispatcher. */
export function addToolRoute(server: FastifyInstance, { config, tools, dispatcher, observe }: RestParts): void {
  server.post("/tool", async (request, reply) => {
    const target = readTarget(request.originalUrl);
    const tool = target.kind === "tool" ? tools.get(target.name) : undefined;
    if (target.kind !== "tool" || tool === undefined) throw new Error("only tools are routed here");
    const principal = principalOf(request);
    const { tenantId } = principal;
    const body = await readBody(request.raw, reply.raw, bodyLimit(principal, tool, config.server));
    const { values, refusal, isForeign } = readRestCall(tool, { body, query: target.query, tenantId });
    if (isForeign) observe({ kind: "identity-refused", tenant: tenantId, member: "tenantId" });

    const caller = { principal, signal: goneSignal(reply, undefined), refusal };
    const params = refusal === undefined ? tool.paramsOf(values) : {};
    const outcome = await callThroughDoor(dispatcher, caller, target.corpus, tool.method, params);
    const answer = restAnswer(tool, values, outcome);
    if (answer.retryAfterMs !== undefined) reply.header("retry-after", seconds(answer.retryAfterMs));
    return sendAnswer(reply.code(answer.status), JSON.stringify(answer.body), config.server);
  });
}
