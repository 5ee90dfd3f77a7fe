import { measureOverhead } from "./overhead.ts";
import { measureSparse } from "./sparse.ts";

/** `npm run bench`: what is measured, beside the raw database in the same run. */

const isQuick = process.argv.includes("--quick");
const overhead = await measureOverhead(10_000, isQuick ? { rounds: 30, seconds: 3 } : { rounds: 200, seconds: 10 });
const sparse = [];
for (const chunks of isQuick ? [1_000, 40_000] : [1_000, 40_000, 1_000_000])
  sparse.push(await measureSparse(chunks, { rounds: isQuick ? 10 : 40 }));
console.log(JSON.stringify({ overhead, sparse }, null, 2));
