import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect } from "vitest";

/**
 * How many connections of this process' pools are lent: a pool's number of idle ones is back to what it was when none of its
 * connections is. Whoever wants to know imports this before a pool is used. The embedded database has no pool, and lends nothing.
 */
const pools = new Set<pg.Pool>();
const connect = pg.Pool.prototype.connect;
pg.Pool.prototype.connect = function (this: pg.Pool, ...args: unknown[]) {
  pools.add(this);
  return Reflect.apply(connect, this, args);
} as typeof connect;

const lent = (): number =>
  [...pools].reduce((sum, { totalCount, idleCount, waitingCount }) => sum + totalCount - idleCount + waitingCount, 0);

/** Fails unless every connection is back within `waitMs`; one that was abandoned takes until its statement has noticed. */
export async function expectNothingLent(waitMs = 20_000): Promise<void> {
  const until = performance.now() + waitMs;
  while (lent() > 0 && performance.now() < until) await sleep(5);
  expect(lent(), "connections that were not given back").toBe(0);
}
