import type { onRequestHookHandler } from "fastify";
import type { Pressure } from "../load/pressure.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import { isMethodName } from "../protocol/methods.ts";
import { METHODS } from "../rpc/method-facts.ts";
import { principalOf, seconds } from "./authenticate.ts";
import { readTarget } from "./target.ts";
import { TransportRefusal } from "./transport-refusal.ts";

/** About as long as it takes at least until the pressure is over. */
const RETRY_AFTER_MS = 5_000;

/**
 * While the process has too much to do, lets each tenant have one request at a time and refuses its others before their bodies are
 * read. Whoever asks little gets its answers, and something always runs, so that what has passed is seen to have passed.
 *
 * @returns a hook for after authentication, which throws TransportRefusal 503
 */
export function shedLoad(pressure: Pick<Pressure, "isHigh">): onRequestHookHandler {
  const running = new Map<string, number>();
  return (request, reply, done) => {
    // Who left while the token was looked at is not heard of again, and would count for ever.
    if (isLight(request.originalUrl) || request.raw.destroyed) return done();
    const { tenantId } = principalOf(request);
    const count = running.get(tenantId) ?? 0;
    if (pressure.isHigh && count > 0) throw refusal();
    running.set(tenantId, count + 1);
    reply.raw.once("close", () => {
      const left = (running.get(tenantId) ?? 0) - 1;
      if (left > 0) running.set(tenantId, left);
      else running.delete(tenantId);
    });
    done();
  };
}

/** Cancels end work, and the core methods cost little. What a batch holds is not known yet. */
function isLight(url: string): boolean {
  const target = readTarget(url);
  const method = target.kind === "rcp" ? target.path.method : undefined;
  if (method === undefined) return false;
  return method.startsWith("notifications/") || (isMethodName(method) && METHODS[method].kind === "core");
}

function refusal(): TransportRefusal {
  const detail = "the server has too much to do, and until that has passed each tenant has one request at a time";
  const error = backendUnavailable({ retryable: true, retryAfterMs: RETRY_AFTER_MS, detail });
  return new TransportRefusal(503, { "retry-after": seconds(RETRY_AFTER_MS) }, error);
}
