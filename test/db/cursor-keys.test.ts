import { afterAll, beforeAll, expect, test } from "vitest";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import type { Access, Database } from "../../src/db/database.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { freshTenant } from "../support/method-caller.ts";

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

const limits = { signal: new AbortController().signal, timeoutMs: 10_000 };
const accessOf = (tenantId = freshTenant()): Access => ({ tenantId, credentials: new Set(["read"]) });

/** The keys of one process, and how often it asked the database. */
function process(now?: () => number) {
  let reads = 0;
  const read = ((...args: Parameters<Database["read"]>) => {
    reads += 1;
    return opened.database.read(...args);
  }) as Database["read"];
  return { keys: new CursorKeys({ read }, now), reads: () => reads };
}

test("a key is made once, is the same in every process, and another tenant's is another", async () => {
  const access = accessOf();
  const { keys } = process();
  expect(await keys.find(access, limits)).toBeUndefined();
  const made = await Promise.all([keys.of(access, limits), process().keys.of(access, limits), keys.of(access, limits)]);
  expect(made[0]).toHaveLength(32);
  for (const key of made) expect(key).toEqual(made[0]);
  expect(await process().keys.find(access, limits)).toEqual(made[0]);
  expect(await keys.of(accessOf(), limits)).not.toEqual(made[0]);
});

test("a known key is read again after a minute, so that a tenant made anew has its new one everywhere", async () => {
  let now = 0;
  const access = accessOf();
  const { keys, reads } = process(() => now);
  const first = await keys.of(access, limits);
  const before = reads();
  now = 59_999;
  expect(await keys.of(access, limits)).toBe(first);
  expect(reads()).toBe(before);
  await opened.admin.transaction((transaction) =>
    transaction.script(`delete from pgrcp_state.cursor_keys where tenant_id = '${access.tenantId}'`),
  );
  now = 60_000;
  expect(await keys.find(access, limits)).toBeUndefined();
  expect(await keys.of(access, limits)).not.toEqual(first);
});
