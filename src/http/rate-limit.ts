import type { RateLimitOptions } from "@fastify/rate-limit";
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { rateLimited } from "../protocol/errors.ts";
import { principalOf, seconds } from "./authenticate.ts";
import { TransportRefusal } from "./transport-refusal.ts";

/** Buckets kept in memory; when there are more, the one used least recently starts anew. */
const BUCKETS = 50_000;

export interface RateLimits {
  /** Before authentication, so its 429 has no body. */
  readonly byAddress: onRequestAsyncHookHandler;
  /** After it. One unit a request. */
  readonly byPrincipal: onRequestAsyncHookHandler;
  /** One more unit of the principal, for a further member of a batch. @returns milliseconds to wait when none was left */
  takeUnit(request: FastifyRequest): Promise<number | undefined>;
}

/** @param server has `@fastify/rate-limit` registered */
export function rateLimits(server: FastifyInstance, config: Config["rateLimit"], observe: Observe): RateLimits {
  if (!config.enabled) {
    const pass: onRequestAsyncHookHandler = async () => {};
    return { byAddress: pass, byPrincipal: pass, takeUnit: async () => undefined };
  }
  const bucket = (kind: "address" | "principal", keyGenerator?: (request: FastifyRequest) => string) => {
    const { max, windowMs } = config[kind];
    const options: RateLimitOptions = {
      max,
      timeWindow: windowMs,
      cache: BUCKETS,
      ...(keyGenerator && { keyGenerator }),
    };
    const take = server.createRateLimit(options);
    return async (request: FastifyRequest) => {
      const taken = await take(request);
      if (taken.isAllowed) throw new Error("no bucket is exempt");
      if (taken.isExceeded) observe({ kind: "rate-limited", bucket: kind });
      return taken;
    };
  };
  const address = bucket("address");
  const principal = bucket("principal", principalKey);

  return {
    async byAddress(request) {
      const { isExceeded, ttl } = await address(request);
      if (isExceeded) throw new TransportRefusal(429, { "retry-after": seconds(ttl) });
    },
    async byPrincipal(request, reply) {
      const { isExceeded, max, remaining, ttl } = await principal(request);
      reply.headers({ "ratelimit-limit": max, "ratelimit-remaining": remaining, "ratelimit-reset": seconds(ttl) });
      if (!isExceeded) return;
      const error = rateLimited({ retryAfterMs: ttl, detail: "one unit a request (rateLimit.principal)" });
      throw new TransportRefusal(429, { "retry-after": seconds(ttl) }, error);
    },
    async takeUnit(request) {
      const { isExceeded, ttl } = await principal(request);
      return isExceeded ? ttl : undefined;
    },
  };
}

/** Not the token's id: a caller with a hundred tokens is one caller. */
function principalKey(request: FastifyRequest): string {
  const { tenantId, issuer, subject, client } = principalOf(request);
  return JSON.stringify([tenantId, issuer, subject, client]);
}
