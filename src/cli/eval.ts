import { type Command, Option } from "commander";
import type { RcpClient } from "../client/index.ts";
import type { Hit, RetrieveMode } from "../protocol/wire.ts";
import {
  addServerOptions,
  callFailure,
  connect,
  endpointOf,
  type ServerOptions,
  wholeNumber,
} from "./client-options.ts";
import { type JudgedQuery, loadDataset } from "./eval-dataset.ts";
import { mean, ndcgAt, percentile, recallAt, reciprocalRankAt, relevantCount } from "./eval-metrics.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { createProgress, type Progress } from "./progress.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp eval`: asks every judged query and measures the order of the answers. */

const TOKEN_FILE = ".pgrcp/dev/read.token";
/** A document may answer with several chunks, so more chunks than documents are asked for. */
const CHUNKS_PER_DOCUMENT = 3;

interface EvalOptions extends ServerOptions {
  readonly mode?: RetrieveMode;
  readonly k: number;
  readonly concurrency: number;
  readonly json?: boolean;
}

export function registerEval(program: Command): void {
  const command = program
    .command("eval")
    .description("measure retrieval quality on a BEIR-style folder")
    .argument("<folder>", "holds queries.jsonl and qrels.tsv (or qrels/test.tsv); its corpus must have been imported");
  addServerOptions(command, TOKEN_FILE)
    .addOption(
      new Option("--mode <mode>", "how to retrieve (default: the server's own)").choices(["dense", "sparse", "hybrid"]),
    )
    .addOption(new Option("--k <n>", "documents to rank for each query").default(50).argParser(wholeNumber(10, 10_000)))
    .addOption(new Option("--concurrency <n>", "queries at a time").default(1).argParser(wholeNumber(1, 64)))
    .option("--json", "print the figures as one JSON object")
    .addHelpText(
      "after",
      `
Asks for ${CHUNKS_PER_DOCUMENT} × k chunks, or as many as the server's maxK allows, and keeps each document at its best chunk's place.
nDCG@10 has linear gains, as trec_eval and BEIR compute it; queries without a relevant document are left out. With --k below
50, recall@50 is that of k documents.`,
    )
    .action(evaluate);
}

async function evaluate(folder: string, options: EvalOptions): Promise<void> {
  const all = await loadDataset(folder);
  const queries = all.filter((query) => relevantCount(query.judgements) > 0);
  const { client } = await connect(options, TOKEN_FILE);
  const wanted = options.k * CHUNKS_PER_DOCUMENT;
  const maxK = await serverMaxK(client, options);
  const chunks = Math.min(wanted, maxK);

  const progress = createProgress("evaluating");
  const answers = await askAll(client, queries, { ...options, chunks }, progress).catch((error: unknown) => {
    progress.finish();
    throw callFailure(error, options);
  });
  progress.finish();

  const scores = {
    "ndcg@10": mean(answers.map((a) => a.ndcg)),
    "recall@50": mean(answers.map((a) => a.recall)),
    "mrr@10": mean(answers.map((a) => a.reciprocalRank)),
  };
  const p50Ms = percentile(
    answers.map((a) => a.wallMs),
    0.5,
  );
  const serverP50Ms = percentile(
    answers.map((a) => a.serverMs),
    0.5,
  );
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ ...scores, queries: queries.length, p50Ms, serverP50Ms })}\n`);
    return;
  }
  const asked =
    chunks < wanted
      ? `${chunks} chunks a query (the server's maxK; ${wanted} were wanted)`
      : `${chunks} chunks a query`;
  process.stdout.write(
    table([
      ["measure", "value"],
      ...Object.entries(scores).map(([name, value]) => [name, value.toFixed(4)]),
      ["queries", String(queries.length)],
      ["p50 per query", `${p50Ms.toFixed(1)} ms (in the server ${serverP50Ms.toFixed(1)} ms)`],
      ["mode", options.mode ?? "the server's default"],
      ["asked for", asked],
      ["endpoint", endpointOf(options)],
    ]),
  );
  if (queries.length < all.length)
    process.stdout.write(`${all.length - queries.length} queries have no relevant document\n`);
}

async function serverMaxK(client: RcpClient, options: ServerOptions): Promise<number> {
  const { capabilities } = await client.info({ retry: { retries: 0 } }).catch((error: unknown) => {
    throw callFailure(error, options);
  });
  const retrieve = capabilities.retrieve as { readonly maxK?: unknown } | undefined;
  if (retrieve === undefined)
    throw new CommandFailure(
      ExitCode.connection,
      "this server does not retrieve",
      "set capabilities.retrieve to true in its configuration",
    );
  return typeof retrieve.maxK === "number" ? retrieve.maxK : Number.POSITIVE_INFINITY;
}

interface Answer {
  readonly ndcg: number;
  readonly recall: number;
  readonly reciprocalRank: number;
  readonly wallMs: number;
  readonly serverMs: number;
}

async function askAll(
  client: RcpClient,
  queries: readonly JudgedQuery[],
  options: { readonly mode?: RetrieveMode; readonly chunks: number; readonly k: number; readonly concurrency: number },
  progress: Progress,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const waiting = queries.values();
  // The workers share one iterator, so each query is asked once.
  const work = async () => {
    for (const query of waiting) {
      answers.push(await ask(client, query, options));
      progress.update(answers.length / queries.length, `${answers.length} of ${queries.length} queries`);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return answers;
}

async function ask(
  client: RcpClient,
  { text, judgements }: JudgedQuery,
  { mode, chunks, k }: { readonly mode?: RetrieveMode; readonly chunks: number; readonly k: number },
): Promise<Answer> {
  const startedAt = performance.now();
  const { hits, usage } = await client.retrieve({ query: text, k: chunks, includeText: false, ...(mode && { mode }) });
  const wallMs = performance.now() - startedAt;
  const ranked = documentsOf(hits).slice(0, k);
  return {
    ndcg: ndcgAt(10, ranked, judgements),
    recall: recallAt(50, ranked, judgements),
    reciprocalRank: reciprocalRankAt(10, ranked, judgements),
    wallMs,
    serverMs: usage?.latencyMs ?? Number.NaN,
  };
}

/** Each document once, at the place of its best chunk. */
export const documentsOf = (hits: readonly Pick<Hit, "chunk">[]): readonly string[] => [
  ...new Set(hits.map((hit) => hit.chunk.docId)),
];
