import pg from "pg";
import type { Corpus, CorpusName, TenantId } from "../src/catalog/corpus.ts";
import { connectionOf } from "../src/db/pools.ts";
import { postingsOfTerms } from "../src/sql/recall-sparse.ts";
import { fillZipfCorpus, wordsIn } from "../test/support/zipf-corpus.ts";
import { readAs } from "./read-as.ts";
import { startBenchServer } from "./server.ts";
import { interleaved, median, quantile } from "./statistics.ts";

/**
 * BM25 by corpus size: `retrieve` by sparse recall over HTTP with a token, beside the rows that it reads, fetched by the driver as the
 * same login. The corpus is that of `test/support/zipf-corpus.ts`: 100 distinct words a chunk.
 */

const TENANT = "acme" as TenantId;
const K = 10;
/** Retrieves after which the server's code is compiled: one that has just started takes half as long again. */
const WARM_UP = 1_000;

export interface SparseFigures {
  readonly chunks: number;
  /** Table, out-of-line blocks and index, of one chunk. */
  readonly bytesPerChunk: number;
  /** By kind of query; milliseconds. */
  readonly queries: Readonly<Record<string, { httpMs: number; httpP95Ms: number; sameRowsMs: number }>>;
}

/** Four words, each by the part of the chunks that it is in. */
const KINDS = {
  "one of four words in 30 % of the chunks": [0.3, 0.01, 0.001, 0.0001],
  "one in 30 %, the others in 1 to 5 %": [0.3, 0.05, 0.02, 0.01],
  "four words in 30 % each": [0.3, 0.3, 0.3, 0.3],
} as const;

export interface SparseOptions {
  readonly sizes: readonly number[];
  readonly rounds: number;
  readonly report: (line: string) => void;
}

export async function measureSparse({ sizes, rounds, report }: SparseOptions): Promise<SparseFigures[]> {
  const figures: SparseFigures[] = [];
  for (const chunks of sizes) {
    report(`${chunks.toLocaleString("en")} chunks`);
    figures.push(await measureSize(chunks, rounds));
  }
  return figures;
}

async function measureSize(chunks: number, rounds: number): Promise<SparseFigures> {
  const server = await startBenchServer({ dimension: 32 });
  const { config, operator, admin } = server.database;
  const client = new pg.Client(connectionOf(config.database.url ?? "", config.database.reader));
  try {
    await client.connect();
    await fillZipfCorpus(operator, TENANT, chunks);
    await admin.transaction((transaction) => transaction.script("analyze"));
    const token = await server.issuer.mint({ tenant: TENANT, credentials: ["read"], expiresIn: 36_000 });
    const size = await admin.query({
      text: "select pg_total_relation_size('pgrcp.postings') as bytes",
      values: [],
      decode: (row) => row.bytes as number,
    });
    const common = wordsIn(0.3, 40);
    for (let run = 0; run < WARM_UP; run++)
      await server.call("retrieve", { query: common[run % 40], mode: "sparse", k: K }, token);
    const queries: Record<string, { httpMs: number; httpP95Ms: number; sameRowsMs: number }> = {};
    for (const [kind, parts] of Object.entries(KINDS)) {
      let asked = 0;
      const choices = parts.map((part) => wordsIn(part, 40));
      // Other words each time, so that neither side has just read the same blocks.
      const words = () => choices.map((choice, place) => choice[(asked + place * 10) % 40] ?? "");
      const took = await interleaved(
        {
          http: async () => {
            asked++;
            const { hits } = await server.call("retrieve", { query: words().join(" "), mode: "sparse", k: K }, token);
            if ((hits as readonly unknown[]).length !== K) throw new Error("too few hits");
          },
          sameRows: async () => {
            asked++;
            await readAs(client, TENANT, [postingsOfTerms(CORPUS, { pin: undefined }, words(), {})]);
          },
        },
        { rounds, perRound: 5 },
      );
      queries[kind] = {
        httpMs: median(took.http),
        httpP95Ms: quantile(took.http, 0.95),
        sameRowsMs: median(took.sameRows),
      };
    }
    return { chunks, bytesPerChunk: (size[0] ?? 0) / chunks, queries };
  } finally {
    await client.end();
    await server.close();
  }
}

const CORPUS = { tenantId: TENANT, name: "default" as CorpusName, placement: "shared" } as Corpus;
