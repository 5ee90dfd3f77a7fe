import { parseArgs } from "node:util";
import { measureChurn } from "./churn.ts";
import { measureCompaction } from "./compaction.ts";
import { reasonOf } from "./failure.ts";
import type { Figures, Measured, Step, StepFigures } from "./figures.ts";
import { measureTenantGrowth } from "./growth.ts";
import { measureIngest } from "./ingest.ts";
import { measureMatrix } from "./matrix.ts";
import { measureOverhead } from "./overhead.ts";
import { measurePeers } from "./peers/measure.ts";
import { reportToMarkdown, writeResults } from "./report.ts";
import { measureRls } from "./rls.ts";
import { startRun } from "./run.ts";
import { FULL, QUICK } from "./scale.ts";
import { measureSparse } from "./sparse.ts";
import { measureTenants } from "./tenants.ts";

/**
 * `npm run bench`: what is measured, beside the raw database in the same run. Tables on standard output, progress on standard error. A step
 * that fails has the reason in the place of its figures; the others go on, and the exit code is 1.
 *
 *     --json                  JSON on standard output instead, and nothing else
 *     --out=<folder>          JSON, tables and plots as files in this folder, too, written anew after each step
 *     --quick                 under a quarter of an hour: smaller, and less often (bench/scale.ts)
 *     --only=recall,sparse    only these steps
 *     --sizes=100,1000000     corpora of so many chunks, in the steps that measure several sizes (sparse, recall, rls)
 *     --sentences=<folder>    a test collection whose sentences the corpora of 10,000 and 40,000 chunks are made of; they are embedded
 *                             once, which takes minutes, and kept in --cache=<folder>
 *     --others=<folder>       a collection on other subjects, for questions that are beside the topic
 *     --peers=<folder>        where the peers' packages are installed (npm, pip), and found again by the next run; a temporary folder by
 *                             default
 */

const text = { type: "string" } as const;
const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    out: text,
    only: text,
    sizes: text,
    sentences: text,
    others: text,
    cache: text,
    peers: text,
  },
});
const { out, sentences, others, cache } = options;
const scale = options.quick ? QUICK : FULL;
const sizes = options.sizes?.split(",").map(Number);
if (sizes?.some((size) => !Number.isInteger(size) || size < 1))
  refuse("--sizes takes numbers of chunks, as in 100,40000");
const startedAt = performance.now();

function report(line: string): void {
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${line}`);
}

/** In the order in which they are run. */
const STEPS: { readonly [Name in Step]: () => Promise<StepFigures[Name]> } = {
  overhead: () => measureOverhead(scale.overhead.chunks, scale.overhead),
  sparse: () => measureSparse({ ...scale.sparse, ...(sizes && { sizes }), report }),
  compaction: () => measureCompaction(scale.compaction.chunks),
  recall: () => measureMatrix({ ...scale.recall, ...(sizes && { sizes }), sentences, others, cache, report }),
  rls: () => measureRls(sizes ?? scale.rls.sizes, { ...scale.rls, report }),
  growth: () => measureTenantGrowth(scale.growth.tenants, { ...scale.growth, report }),
  tenants: () => measureTenants({ ...scale.tenants, report }),
  churn: () => measureChurn({ ...scale.churn, report }),
  ingest: () => measureIngest({ ...scale.ingest, collection: sentences, report }),
  peers: () => measurePeers({ ...scale.peers, ownPartitionFrom: 8_000, questions: 100, folder: options.peers, report }),
};

const all = Object.keys(STEPS) as Step[];
const only = options.only?.split(",") ?? all;
const strangers = only.filter((name) => !Object.hasOwn(STEPS, name));
if (strangers.length > 0) refuse(`no step is called ${strangers.join(", ")}; there are ${all.join(", ")}`);
const cluster = process.env.PGRCP_TEST_DATABASE_URL;
if (cluster === undefined) refuse('the bench needs a Postgres of its own: eval "$(scripts/temp-postgres start)"');
// A connection that is lost while nobody asks it anything, or a writer that fails while its readers still run, must not end the run.
process.on("uncaughtException", (error) => {
  console.error(error);
  process.exitCode = 1;
});

// Servers are ended when the process exits, which a signal alone does not make it do.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const runSoFar = await startRun(cluster, process.argv.slice(2));
const seconds: Partial<Record<Step, number>> = {};
const measured: { -readonly [Name in keyof Measured]: Measured[Name] } = {};
const figures = (): Figures => ({ run: runSoFar(seconds), ...measured });

for (const name of all.filter((one) => only.includes(one))) {
  report(name);
  await run(name);
  report(`${name} took ${seconds[name]?.toFixed(0)} s`);
  if (out !== undefined) report(`written to ${await writeResults(out, figures())}`);
}
process.stdout.write(options.json ? `${JSON.stringify(figures(), null, 2)}\n` : reportToMarkdown(figures()));
// A step that failed may have left a server behind.
process.exit();

async function run<Name extends Step>(name: Name): Promise<void> {
  const begunAt = performance.now();
  try {
    measured[name] = await STEPS[name]();
  } catch (error) {
    console.error(error);
    measured[name] = { failure: reasonOf(error) };
    process.exitCode = 1;
  }
  seconds[name] = (performance.now() - begunAt) / 1_000;
}

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}
