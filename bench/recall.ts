import { loadavg } from "node:os";
import type pg from "pg";
import { vectorLiteral } from "../src/sql/halfvec.ts";
import { FIELD_DECLARATIONS, FIELDS, FILTERS, type MatrixFilter } from "./filters.ts";
import { loadCorpus } from "./load-corpus.ts";
import { type BenchServer, connectAsOwner, startBenchServer } from "./server.ts";
import { median, quantile, timed } from "./statistics.ts";
import { TOPICS, type Topic, type Vectors } from "./vectors.ts";

/**
 * Recall against exact search, and latency over HTTP with a token, by size of the tenant, filter and topic. What is right is what Postgres
 * says to a superuser, under no policy and through no graph; how long that takes is told beside.
 */

const K = 10;
/** Two chunks as near as that are as good as each other. */
const TIE = 1e-6;

/** The name of the stand-in's space, and of the corpora's. */
const DIMENSION = 384;
export const IDENTITY = `bag-of-words@${DIMENSION}`;

/** A server whose model gives each question the vector that it was told. */
export interface Matrix {
  readonly server: BenchServer;
  /** @returns the text to ask */
  ask(text: string, vector: Float32Array): string;
  close(): Promise<void>;
}

export interface MatrixSettings {
  /** The vector of a text that is written. */
  readonly vectorOf?: (text: string) => Float32Array;
  readonly ownPartitionFrom?: number;
}

export async function openMatrix({ vectorOf, ownPartitionFrom = 8_000 }: MatrixSettings = {}): Promise<Matrix> {
  const known = new Map<string, Float32Array>();
  const embed = (text: string): Float32Array => {
    const vector = known.get(text) ?? vectorOf?.(text);
    if (vector === undefined) throw new Error("the server asks for the vector of another text");
    return vector;
  };
  const server = await startBenchServer({
    dimension: DIMENSION,
    model: { maxTokens: 8_192, embed: async (texts) => texts.map(embed) },
    fields: FIELDS,
    config: {
      filter: { fields: FIELD_DECLARATIONS },
      indexing: { chunkTokens: 4_096 },
      // Built many times slower where it does not fit.
      maintenance: { buildMemoryMb: 4_096 },
      retention: { versionHours: 1 },
      retrieval: { ownPartitionFrom },
    },
  });
  return {
    server,
    ask(text, vector) {
      known.set(text, vector);
      return text;
    },
    close: () => server.close(),
  };
}

export interface MatrixCorpus {
  readonly tenant: string;
  readonly chunks: number;
  readonly vectors: Vectors;
}

export interface SizeFigures {
  readonly chunks: number;
  readonly vectors: string;
  readonly loadSeconds: number;
  /** What `pgrcp maintain` did, how long it took and how long writers waited for it. */
  readonly maintained: readonly object[];
  readonly cells: readonly CellFigures[];
}

export interface CellFigures {
  readonly filter: string;
  readonly share: number;
  readonly topic: Topic;
  readonly questions: number;
  /** Of the ten nearest that pass the filter, or of all if fewer pass. */
  readonly recall: number;
  /** Answers with fewer hits than there are. */
  readonly short: number;
  /** Most chunks that an answer could hold, up to ten. */
  readonly matching: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** The nearest by plain SQL, each chunk that passes looked at. */
  readonly exactSqlMs: number;
  /** Answers by how their chunks were found. */
  readonly searches: Readonly<Record<string, number>>;
  /** Of the machine, over the last minute. */
  readonly load: number;
}

export async function fillCorpus(
  { server }: Matrix,
  { tenant, chunks, vectors }: MatrixCorpus,
): Promise<Pick<SizeFigures, "loadSeconds" | "maintained">> {
  const client = await connectAsOwner(server);
  try {
    const ms = await timed(() =>
      loadCorpus(client, { tenant, chunks, vectors, identity: IDENTITY }).then(() =>
        client.query("vacuum analyze pgrcp.chunks_shared"),
      ),
    );
    const maintained = await server.maintain();
    // As autovacuum does in its time.
    await client.query("vacuum analyze");
    return { loadSeconds: Math.round(ms / 1_000), maintained };
  } finally {
    await client.end();
  }
}

/** @param report told of each cell */
export async function measureRecall(
  matrix: Matrix,
  corpus: MatrixCorpus,
  { questions, report }: { readonly questions: number; readonly report: (line: string) => void },
): Promise<CellFigures[]> {
  const client = await connectAsOwner(matrix.server);
  try {
    await client.query("set jit = off; set max_parallel_workers_per_gather = 0");
    const token = await matrix.server.issuer.mint({ tenant: corpus.tenant, credentials: ["read"], expiresIn: 36_000 });
    const cells: CellFigures[] = [];
    for (const topic of TOPICS)
      for (const filter of FILTERS) {
        const cell = await measureCell({ matrix, client, token, corpus, topic, filter, questions });
        cells.push(cell);
        report(lineOf(cell));
      }
    return cells;
  } finally {
    await client.end();
  }
}

export interface Cell {
  readonly matrix: Matrix;
  readonly client: pg.Client;
  readonly token: string;
  readonly corpus: MatrixCorpus;
  readonly topic: Topic;
  readonly filter: MatrixFilter;
  readonly questions: number;
}

export async function measureCell(cell: Cell): Promise<CellFigures> {
  const { matrix, token, corpus, topic, filter, questions } = cell;
  const { server } = matrix;
  const [httpMs, sqlMs, recalls]: [number[], number[], number[]] = [[], [], []];
  const searches: Record<string, number> = {};
  let short = 0;
  let matching = 0;
  for (let number = 0; number < questions; number++) {
    const vector = corpus.vectors.question(topic, number);
    const { wire, where } = filter.for(vector, corpus.vectors);
    const query = matrix.ask(`${corpus.tenant}, ${topic} topic, ${number}`, vector);
    const params = { query, mode: "dense", k: K, ...(wire !== undefined && { filter: wire }) };
    const answer = (await server.call("retrieve", params, token)) as unknown as Answer;
    let right: readonly Nearest[] = [];
    const bySql = async () => {
      right = await nearest(cell, vector, where);
    };
    sqlMs.push(await timed(bySql));
    // The vector of the question is known by now, as it is in the other measurements.
    httpMs.push(await timed(() => server.call("retrieve", params, token)));

    const wanted = Math.min(K, right.length);
    const furthest = right[wanted - 1]?.distance ?? 0;
    const good = new Set(right.filter(({ distance }) => distance <= furthest + TIE).map(({ id }) => id));
    const ids = answer.hits.map(({ id }) => id);
    if (ids.length < wanted) short++;
    recalls.push(wanted === 0 ? 1 : Math.min(1, ids.filter((id) => good.has(id)).length / wanted));
    matching = Math.max(matching, wanted);
    const { search = "none", why = "" } = answer.usage.strategy?.dense ?? {};
    const how = `${search}: ${why.replace(/\d+/g, "n")}`;
    searches[how] = (searches[how] ?? 0) + 1;
  }
  return {
    filter: filter.name,
    share: filter.share,
    topic,
    questions,
    recall: recalls.reduce((sum, value) => sum + value, 0) / recalls.length,
    short,
    matching,
    p50Ms: median(httpMs),
    p95Ms: quantile(httpMs, 0.95),
    exactSqlMs: median(sqlMs),
    searches,
    load: loadavg()[0] ?? 0,
  };
}

interface Answer {
  readonly hits: readonly { readonly id: string }[];
  readonly usage: { readonly strategy?: { readonly dense?: { readonly search: string; readonly why: string } } };
}

interface Nearest {
  readonly id: string;
  readonly distance: number;
}

/** The ten nearest, and further ones that may be as near as the tenth. */
async function nearest({ client, corpus }: Cell, vector: Float32Array, where: string): Promise<readonly Nearest[]> {
  const { rows } = await client.query<Nearest>({
    text: `select doc_id as id, (embedding <=> $1::halfvec) + 0 as distance from pgrcp.chunks where tenant_id = $2 and removed_version is null and ${where} order by distance limit ${3 * K}`,
    values: [vectorLiteral(vector), corpus.tenant],
  });
  return rows;
}

export const lineOf = ({ topic, filter, recall, short, p50Ms, exactSqlMs, searches }: CellFigures): string =>
  `${topic}, ${filter}: recall ${recall.toFixed(4)}, ${short} short, p50 ${p50Ms.toFixed(2)} ms, SQL ${exactSqlMs.toFixed(2)} ms, ${JSON.stringify(searches)}`;
