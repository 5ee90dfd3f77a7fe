import { openTestDatabase } from "../../support/database.ts";
import { callerOf, freshTenant } from "../../support/method-caller.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

/**
 * What leaving out near-duplicates costs a retrieve: `node test/retrieval/near-duplicates/cost.ts [chunks] [copies]`. Asks with
 * and without it by turns and prints both medians, in milliseconds, and their ratio. On Postgres with PGRCP_TEST_DATABASE_URL.
 */

const [chunks = 200, copies = 0] = process.argv.slice(2).map(Number);
const ROUNDS = 40;
const BATCH = 100;

const random = new SeededRandom(3);
const vocabulary = Array.from({ length: 2_000 }, (_, n) => `word${n}`);
const passage = () => Array.from({ length: 60 }, () => random.pick(vocabulary)).join(" ");
const flood = Array.from({ length: 60 }, (_, n) => `word${n}`).join(" ");

const opened = await openTestDatabase();
const tenant = freshTenant();
const withIt = callerOf(opened.database, tenant);
const without = callerOf(opened.database, tenant, { config: { retrieval: { maxNearDuplicates: 0 } } });
for (let from = 0; from < chunks + copies; from += BATCH)
  await withIt.add(
    Array.from({ length: Math.min(BATCH, chunks + copies - from) }, (_, n) => ({
      id: `d${from + n}`,
      text: from + n < chunks ? passage() : flood,
    })),
  );

const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
const times = { withIt: [] as number[], without: [] as number[] };
for (let round = 0; round < ROUNDS; round++) {
  const query = `word${round % 60} word${(round + 7) % 60} ${random.pick(vocabulary)}`;
  for (const [name, caller] of Object.entries({ withIt, without })) {
    const startedAt = performance.now();
    await caller.retrieve({ query, k: 10 });
    times[name as keyof typeof times].push(performance.now() - startedAt);
  }
}
const [on, off] = [median(times.withIt), median(times.without)];
console.log(
  `${chunks} chunks, ${copies} copies: ${on.toFixed(1)} with, ${off.toFixed(1)} without, ${(on / off).toFixed(2)}`,
);
await opened.close();
