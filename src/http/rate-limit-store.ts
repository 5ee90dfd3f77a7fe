import rateLimit, { type RateLimitOptions } from "@fastify/rate-limit";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Redis } from "ioredis";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";

/** One unit taken from a bucket. */
export interface Taken {
  readonly max: number;
  readonly remaining: number;
  readonly timeWindow: number;
  /** Milliseconds until the window ends. */
  readonly ttl: number;
  readonly isExceeded: boolean;
}

export type Take = (request: FastifyRequest) => Promise<Taken>;

/** Where buckets are kept: makes one kind of them. */
export type BucketStore = (options: RateLimitOptions) => Take;

/** Buckets kept in memory; when there are more, the one used least recently starts anew. */
const BUCKETS = 50_000;

/** For how long Redis is left alone after it failed, so that not every request waits for it. */
const RETRY_MS = 1_000;

/**
 * Buckets of this process, or of all that share a Redis. While Redis is away each process counts alone, as it would without one: a
 * limit is then good once per process, and nobody is refused for an outage of ours. One line says when that begins, one when it ends.
 */
export async function bucketStore(
  server: FastifyInstance,
  config: Config["rateLimit"]["redis"],
  observe: Observe,
): Promise<BucketStore> {
  const local = oneAtATime(await storeOf(server, { cache: BUCKETS }));
  if (config === undefined) return local;
  const redis = await connect(config);
  server.addHook("onClose", async () => redis.disconnect());
  const shared = await storeOf(server, { redis, nameSpace: config.keyPrefix });
  let isAway = false;
  let nextTryAt = 0;
  const away = (is: boolean) => {
    nextTryAt = is ? performance.now() + RETRY_MS : 0;
    if (is === isAway) return;
    isAway = is;
    observe({ kind: "warning", text: is ? AWAY : BACK });
  };
  return (options) => {
    const [takeShared, takeLocal] = [shared(options), local(options)];
    return async (request) => {
      if (isAway) {
        if (performance.now() < nextTryAt) return takeLocal(request);
        nextTryAt = performance.now() + RETRY_MS; // this request alone finds out
      }
      try {
        const taken = await takeShared(request);
        away(false);
        return taken;
      } catch {
        away(true);
        return takeLocal(request);
      }
    };
  };
}

const AWAY = "rate limits: Redis (rateLimit.redis) does not answer, so each process counts alone until it does";
const BACK = "rate limits: Redis answers again, so its counts are shared again";

/** The plugin's memory hands out the bucket itself, which the next unit would change before this one's count is read. */
function oneAtATime(store: BucketStore): BucketStore {
  let last: Promise<unknown> = Promise.resolve();
  return (options) => {
    const take = store(options);
    return (request) => {
      const taken = last.then(() => take(request));
      last = taken.catch(() => {});
      return taken;
    };
  };
}

/** The plugin has one store per registration, so each gets a scope of its own. */
async function storeOf(
  server: FastifyInstance,
  store: { readonly cache: number } | { redis: Redis; nameSpace: string },
) {
  const { promise, resolve } = Promise.withResolvers<BucketStore>();
  await server.register(async (scope) => {
    await scope.register(rateLimit, { global: false, ...store });
    resolve((options) => {
      const take = scope.createRateLimit({ ...options, ...("cache" in store && store) });
      return async (request) => {
        const taken = await take(request);
        if (taken.isAllowed) throw new Error("no bucket is exempt");
        return taken;
      };
    });
  });
  return promise;
}

/** Connected, or still trying: every step ends in `timeoutMs`, and nothing is queued for a connection that is not there. */
async function connect({ url, timeoutMs }: NonNullable<Config["rateLimit"]["redis"]>): Promise<Redis> {
  const redis = new Redis(url, {
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: () => RETRY_MS,
    lazyConnect: true,
  });
  // What it means for requests is said by the first that fails.
  redis.on("error", () => {});
  const timer = Promise.withResolvers<void>();
  const timeout = setTimeout(timer.resolve, timeoutMs);
  await Promise.race([redis.connect().catch(() => {}), timer.promise]);
  clearTimeout(timeout);
  return redis;
}
