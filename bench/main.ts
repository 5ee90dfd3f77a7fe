import { measureOverhead } from "./overhead.ts";

/** `npm run bench`: what is measured, beside the raw database in the same run. */

const isQuick = process.argv.includes("--quick");
const result = await measureOverhead(10_000, isQuick ? { rounds: 30, seconds: 3 } : { rounds: 200, seconds: 10 });
console.log(JSON.stringify(result, null, 2));
