import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { rateLimited } from "../protocol/errors.ts";
import { principalOf, seconds } from "./authenticate.ts";
import { clientAddress } from "./client-address.ts";
import { bucketStore, type Take, type Taken } from "./rate-limit-store.ts";
import { TransportRefusal } from "./transport-refusal.ts";

type Bucket = "address" | "principal";

export interface RateLimits {
  /** Before authentication, so its 429 has no body. What is left is told to nobody: others may share the address. */
  readonly byAddress: onRequestAsyncHookHandler;
  /** After it. One unit a request; every answer says how many are left. */
  readonly byPrincipal: onRequestAsyncHookHandler;
  /** One more unit of the principal, for a further member of a batch. @returns milliseconds to wait when none was left */
  takeUnit(request: FastifyRequest, reply: FastifyReply): Promise<number | undefined>;
}

/** @param server closes what the limits hold open when it closes */
export async function rateLimits(
  server: FastifyInstance,
  config: Config["rateLimit"],
  observe: Observe,
): Promise<RateLimits> {
  if (!config.enabled) {
    const pass: onRequestAsyncHookHandler = async () => {};
    return { byAddress: pass, byPrincipal: pass, takeUnit: async () => undefined };
  }
  const store = await bucketStore(server, config.redis, observe);
  const bucket = (kind: Bucket, keyOf: (request: FastifyRequest) => readonly string[]): Take => {
    const { max, windowMs } = config[kind];
    const take = store({ max, timeWindow: windowMs, keyGenerator: (request) => keyFor([kind, ...keyOf(request)]) });
    return async (request) => {
      const taken = await take(request);
      if (taken.isExceeded) observe({ kind: "rate-limited", bucket: kind });
      return taken;
    };
  };
  const address = bucket("address", (request) => [clientAddress(request)]);
  const principal = bucket("principal", principalKey);

  return {
    async byAddress(request, reply) {
      const taken = await address(request);
      reply.header("ratelimit-policy", policy("address", taken));
      if (taken.isExceeded) throw new TransportRefusal(429, { ...left("address", taken), ...retryAfter(taken) });
    },
    async byPrincipal(request, reply) {
      const taken = await principal(request);
      reply.headers({ "ratelimit-policy": policy("principal", taken), ...left("principal", taken) });
      if (!taken.isExceeded) return;
      const error = rateLimited({ retryAfterMs: taken.ttl, detail: "one unit a request (rateLimit.principal)" });
      throw new TransportRefusal(429, retryAfter(taken), error);
    },
    async takeUnit(request, reply) {
      const taken = await principal(request);
      reply.headers(left("principal", taken));
      return taken.isExceeded ? taken.ttl : undefined;
    },
  };
}

/** @see draft-ietf-httpapi-ratelimit-headers-11, also for the next */
const policy = (bucket: Bucket, { max, timeWindow }: Taken): string => `"${bucket}";q=${max};w=${seconds(timeWindow)}`;

const left = (bucket: Bucket, { remaining, ttl }: Taken) => ({
  ratelimit: `"${bucket}";r=${remaining};t=${seconds(ttl)}`,
});

const retryAfter = ({ ttl }: Taken) => ({ "retry-after": seconds(ttl) });

/** Not the token's id: a caller with a hundred tokens is one caller. */
function principalKey(request: FastifyRequest): readonly string[] {
  const { tenantId, issuer, subject, client } = principalOf(request);
  return [tenantId, issuer, subject, client];
}

/** Whoever reads the buckets learns no name from them. */
const keyFor = (parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "base64url");
