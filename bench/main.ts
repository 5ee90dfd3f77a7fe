import { parseArgs } from "node:util";
import { measureChurn } from "./churn.ts";
import { measureCompaction } from "./compaction.ts";
import { measureTenantGrowth } from "./growth.ts";
import { measureIngest } from "./ingest.ts";
import { measureMatrix } from "./matrix.ts";
import { measureOverhead } from "./overhead.ts";
import { measurePeers } from "./peers/measure.ts";
import { reportToMarkdown, writeResults } from "./report.ts";
import { measureRls } from "./rls.ts";
import { startRun } from "./run.ts";
import { measureSparse } from "./sparse.ts";

/**
 * `npm run bench`: what is measured, beside the raw database in the same run. Tables on standard output, progress on standard error.
 *
 *     --json                  JSON on standard output instead, and nothing else
 *     --out=<folder>          JSON, tables and plots as files in this folder, too
 *     --quick                 under a quarter of an hour: corpora of up to 40,000 chunks
 *     --only=recall,sparse    only these steps
 *     --sentences=<folder>    a test collection whose sentences the corpora of 10,000 and 40,000 chunks are made of; they are embedded
 *                             once, which takes minutes, and kept in --cache=<folder>
 *     --others=<folder>       a collection on other subjects, for questions that are beside the topic
 *     --peers=<folder>        where the peers' packages are installed (npm, pip), and found again by the next run; a temporary folder by
 *                             default
 */

const cluster = process.env.PGRCP_TEST_DATABASE_URL;
if (cluster === undefined) {
  console.error('the bench needs a Postgres of its own: eval "$(scripts/temp-postgres start)"');
  process.exit(2);
}

const text = { type: "string" } as const;
const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    out: text,
    only: text,
    sentences: text,
    others: text,
    cache: text,
    peers: text,
  },
});
const isQuick = options.quick;
const LARGE_CHURN = { chunks: 40_000, ownPartitionFrom: 20_000 };
const SMALL_CHURN = { chunks: 4_000, ownPartitionFrom: 2_000 };
const startedAt = performance.now();
const endRun = await startRun(cluster, process.argv.slice(2));

function report(line: string): void {
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${line}`);
}

/** One measurement, with how long everything has taken so far; undefined where it is not asked for. */
async function step<Result>(name: string, what: string, measure: () => Promise<Result>): Promise<Result | undefined> {
  if (options.only !== undefined && !options.only.split(",").includes(name)) return undefined;
  report(what);
  return await measure();
}

const size = (chunks: number): string => chunks.toLocaleString("en");
const overhead = await step("overhead", `retrieve beside the same SQL, ${size(10_000)} chunks`, () =>
  measureOverhead(10_000, isQuick ? { rounds: 30, seconds: 3 } : { rounds: 200, seconds: 10 }),
);
const sparse = await step("sparse", "sparse recall by corpus size", async () => {
  const sizes = [];
  for (const chunks of isQuick ? [1_000, 40_000] : [1_000, 40_000, 1_000_000]) {
    report(`${size(chunks)} chunks`);
    sizes.push(await measureSparse(chunks, { rounds: isQuick ? 10 : 40 }));
  }
  return sizes;
});
const compaction = await step("compaction", "the index of words of chunks that were written one at a time", () =>
  measureCompaction(isQuick ? 1_000 : 4_096),
);
const recall = await step("recall", "recall by size, filter and topic", () =>
  measureMatrix({
    sizes: [100, 1_000, 10_000, 40_000, ...(isQuick ? [] : [100_000, 1_000_000])],
    questions: isQuick ? 20 : 50,
    sentences: options.sentences,
    others: options.others,
    cache: options.cache,
    report,
  }),
);
const rls = await step("rls", "the same statements with policies and without", () =>
  measureRls([100, 1_000, 10_000, 40_000], { rounds: isQuick ? 10 : 50, report }),
);
const growth = await step("growth", "a small tenant among few and many", () =>
  measureTenantGrowth(isQuick ? [10, 100] : [10, 1_000], { rounds: isQuick ? 20 : 100, report }),
);
const churn = await step("churn", "all documents replaced five times, nine tenths deleted", () =>
  measureChurn({ ...(isQuick ? SMALL_CHURN : LARGE_CHURN), questions: 20, report }),
);
const ingest = await step("ingest", "documents written over HTTP, and readers beside", () =>
  measureIngest({
    documents: isQuick ? 1_000 : 5_000,
    seconds: isQuick ? 10 : 60,
    collection: options.sentences,
    imported: isQuick ? 100 : 300,
    report,
  }),
);
const peers = await step("peers", "beside what one might use in its place", () =>
  measurePeers({
    counts: [
      { chunks: 1_000, tenants: 15 },
      { chunks: 10_000, tenants: 4 },
      ...(isQuick ? [] : [{ chunks: 100_000, tenants: 1 }]),
    ],
    questions: 100,
    rounds: 20,
    seconds: 3,
    ownPartitionFrom: 20_000,
    sharedTable: isQuick,
    folder: options.peers,
    report,
  }),
);
const figures = {
  ...{ run: endRun(), overhead, sparse, compaction },
  ...{ recall, rls, growth, churn, ingest, peers },
};
if (options.out !== undefined) report(`written to ${await writeResults(options.out, figures)}`);
process.stdout.write(options.json ? `${JSON.stringify(figures, null, 2)}\n` : reportToMarkdown(figures));
