import { measureOverhead } from "./overhead.ts";
import { measureSparse } from "./sparse.ts";

/** `npm run bench`: what is measured, beside the raw database in the same run. JSON on standard output, progress on standard error. */

if (process.env.PGRCP_TEST_DATABASE_URL === undefined) {
  console.error('the bench needs a Postgres of its own: eval "$(scripts/temp-postgres start)"');
  process.exit(2);
}

const isQuick = process.argv.includes("--quick");
const startedAt = performance.now();

/** One measurement, with how long everything has taken so far. */
async function step<Result>(name: string, measure: () => Promise<Result>): Promise<Result> {
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${name}`);
  return await measure();
}

const size = (chunks: number): string => chunks.toLocaleString("en");
const overhead = await step(`retrieve beside the same SQL, ${size(10_000)} chunks`, () =>
  measureOverhead(10_000, isQuick ? { rounds: 30, seconds: 3 } : { rounds: 200, seconds: 10 }),
);
const sparse = [];
for (const chunks of isQuick ? [1_000, 40_000] : [1_000, 40_000, 1_000_000]) {
  const rounds = isQuick ? 10 : 40;
  sparse.push(await step(`sparse recall, ${size(chunks)} chunks`, () => measureSparse(chunks, { rounds })));
}
console.log(JSON.stringify({ overhead, sparse }, null, 2));
