import type { FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import type { Dispatcher } from "../rpc/dispatch.ts";
import { acceptsEvents } from "./accepts-events.ts";
import { principalOf } from "./authenticate.ts";
import { openEventStream } from "./event-stream.ts";
import { goneSignal } from "./gone-signal.ts";
import { headerValues } from "./header-values.ts";
import type { Pace } from "./paced-body.ts";
import type { RateLimits } from "./rate-limit.ts";
import { type BodyLimits, bodyLimit, readBody } from "./read-body.ts";
import { sendAnswer } from "./reply.ts";
import { readTarget } from "./target.ts";

export interface RcpRouteParts {
  readonly dispatcher: Dispatcher;
  readonly limits: RateLimits;
  readonly pace: Pace;
  readonly bodyLimits: BodyLimits;
  /** Undefined when streaming is switched off: every answer is one JSON text then. */
  readonly streaming: Config["streaming"] | undefined;
}

/** Adds `POST /rcp`, which every RCP target is routed to: body to the dispatcher, its reply to HTTP 200 or 204. */
export function addRcpRoute(server: FastifyInstance, parts: RcpRouteParts): void {
  const { dispatcher, limits, pace, bodyLimits, streaming } = parts;
  server.post("/rcp", async (request, reply) => {
    const target = readTarget(request.originalUrl);
    if (target.kind !== "rcp") throw new Error("only RCP targets are routed here");
    const { path } = target;
    const principal = principalOf(request);
    const body = await readBody(request.raw, reply.raw, bodyLimit(principal, path, bodyLimits));
    // A batch is answered by one array, so there is no stream at the base path.
    const events =
      streaming !== undefined && path.method !== undefined && acceptsEvents(request.raw)
        ? openEventStream(reply, streaming.heartbeatMs, pace)
        : undefined;
    const outcome = await dispatcher.dispatch({
      body,
      path,
      principal,
      sessionTokens: headerValues(request.raw, "rcp-session"),
      signal: goneSignal(reply, events && principal),
      takeUnit: () => limits.takeUnit(request, reply),
      notify: events?.notify,
    });
    if (outcome.kind === "silent") return reply.code(204).send();
    return events === undefined ? sendAnswer(reply, outcome.text, pace) : events.end(outcome.text);
  });
}
