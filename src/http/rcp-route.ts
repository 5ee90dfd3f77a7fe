import type { FastifyInstance, FastifyReply } from "fastify";
import { cancelled } from "../protocol/errors.ts";
import type { Dispatcher } from "../rpc/dispatch.ts";
import { principalOf } from "./authenticate.ts";
import { headerValues } from "./header-values.ts";
import type { RateLimits } from "./rate-limit.ts";
import { sendJson } from "./reply.ts";
import { readTarget } from "./target.ts";

/** Adds `POST /rcp`, which every RCP target is routed to: body to the dispatcher, its reply to HTTP 200 or 204. */
export function addRcpRoute(server: FastifyInstance, dispatcher: Dispatcher, limits: RateLimits): void {
  // The body stays bytes: Fastify's own JSON parser strips a byte order mark and answers errors in its own shape.
  server.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: unknown, body: Buffer) => body,
  );
  server.post<{ Body: Buffer | undefined }>("/rcp", async (request, reply) => {
    const target = readTarget(request.originalUrl);
    if (target.kind !== "rcp") throw new Error("only RCP targets are routed here");
    const outcome = await dispatcher.dispatch({
      body: request.body ?? new Uint8Array(),
      path: target.path,
      principal: principalOf(request),
      sessionTokens: headerValues(request.raw, "rcp-session"),
      signal: goneSignal(reply),
      takeUnit: () => limits.takeUnit(request),
    });
    if (outcome.kind === "silent") return reply.code(204).send();
    return sendJson(reply, outcome.text);
  });
}

/** Aborts when the connection closes before the answer is out. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort(cancelled());
  });
  return controller.signal;
}
