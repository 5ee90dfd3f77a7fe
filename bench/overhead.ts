import { fileURLToPath } from "node:url";
import pg from "pg";
import type { Corpus, TenantId } from "../src/catalog/corpus.ts";
import { connectionOf } from "../src/db/pools.ts";
import { corpusOf, denseSql } from "./dense-sql.ts";
import { loadCorpus } from "./load-corpus.ts";
import { postJson, startPeerProcess } from "./peers/process.ts";
import { IDENTITY, type Matrix, openMatrix } from "./recall.ts";
import { type BenchServer, connectAsOwner } from "./server.ts";
import { interleaved, median, throughput } from "./statistics.ts";
import { syntheticVectors } from "./vectors.ts";

/**
 * What the server adds to its SQL: `retrieve` by dense recall over HTTP with a token, the query's vector cached, beside the same
 * statements sent by the driver as the same login, beside the least server that sends them, and beside one plain query without tenants.
 * Of one corpus, before `pgrcp maintain` has been there, and since.
 */

const TENANT = "acme" as TenantId;
const K = 10;
const CLIENTS = 8;
const BARE_SERVER = fileURLToPath(new URL("bare-server.ts", import.meta.url));

export interface Overhead {
  readonly chunks: number;
  /** How they are found: each looked at, as before `pgrcp maintain`, or by the corpus's graph. */
  readonly search: "exact" | "graph";
  /** Medians in milliseconds. */
  readonly pingMs: number;
  readonly retrieveMs: number;
  /** The same statements behind a bare server (bench/bare-server.ts). */
  readonly bareMs: number;
  readonly sameSqlMs: number;
  readonly plainSqlMs: number;
  /** Runs a second of 8 clients. */
  readonly retrieveRate: number;
  readonly bareRate: number;
  readonly sameSqlRate: number;
}

interface Scale {
  readonly rounds: number;
  readonly seconds: number;
}

export async function measureOverhead(chunks: number, scale: Scale): Promise<Overhead[]> {
  const vectors = syntheticVectors();
  const vector = vectors.question("on", 0);
  const matrix = await openMatrix();
  const { server } = matrix;
  const owner = await connectAsOwner(server);
  try {
    await loadCorpus(owner, { tenant: TENANT, chunks, vectors, identity: IDENTITY });
    await owner.query("vacuum analyze");
    const plainSql = await plainSqlFor(owner, vector);
    const measure = async (search: Overhead["search"]) => {
      const corpus = await corpusOf(owner, TENANT, vectors.dimension);
      return await measureSearch({ chunks, search, matrix, corpus, vector, plainSql: plainSql[search] }, scale);
    };
    const exact = await measure("exact");
    await server.maintain();
    await owner.query("vacuum analyze");
    return [exact, await measure("graph")];
  } finally {
    await owner.end();
    await matrix.close();
  }
}

interface Searched {
  readonly chunks: number;
  readonly search: Overhead["search"];
  readonly matrix: Matrix;
  readonly corpus: Corpus;
  readonly vector: Float32Array;
  readonly plainSql: () => Promise<void>;
}

async function measureSearch(
  { chunks, search, matrix, corpus, vector, plainSql }: Searched,
  { rounds, seconds }: Scale,
): Promise<Overhead> {
  const { server } = matrix;
  const clients = Array.from({ length: CLIENTS }, () => readerOf(server));
  const [first] = clients;
  if (first === undefined) throw new Error("there is at least one client");
  const byGraph = search === "graph";
  const bare = await startBareServer(server, corpus, vector, byGraph);
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const token = await server.issuer.mint({ tenant: TENANT, credentials: ["read"], expiresIn: 3_600 });
    const params = { query: matrix.ask("what is asked", vector), mode: "dense", k: K };
    const retrieve = () => server.call("retrieve", params, token);
    const { usage } = (await retrieve()) as { readonly usage?: { readonly strategy?: { readonly dense?: unknown } } };
    const how = JSON.stringify(usage?.strategy?.dense);
    if (!how?.includes(`"search":"${search}"`)) throw new Error(`the server found its hits otherwise: ${how}`);
    const sameSql = denseSql(corpus, vector, { byGraph });
    const rates = { retrieve: [] as number[], bare: [] as number[], sameSql: [] as number[] };
    for (let turn = 0; turn < 3; turn++) {
      rates.retrieve.push(await throughput(retrieve, { clients: CLIENTS, seconds }));
      rates.bare.push(await throughput(bare.ask, { clients: CLIENTS, seconds }));
      rates.sameSql.push(
        await throughput((client) => sameSql(clients[client] ?? first), { clients: CLIENTS, seconds }),
      );
    }
    // By now the server has been asked so often that its code is compiled as it stays.
    const ping = () => server.call("ping", {}, token);
    const took = await interleaved(
      { ping, retrieve, bare: bare.ask, sameSql: () => sameSql(first), plainSql },
      { rounds, perRound: 10 },
    );
    return {
      chunks,
      search,
      pingMs: median(took.ping),
      retrieveMs: median(took.retrieve),
      bareMs: median(took.bare),
      sameSqlMs: median(took.sameSql),
      plainSqlMs: median(took.plainSql),
      retrieveRate: median(rates.retrieve),
      bareRate: median(rates.bare),
      sameSqlRate: median(rates.sameSql),
    };
  } finally {
    await bare.stop();
    await Promise.all(clients.map((client) => client.end()));
  }
}

const readerOf = ({ database: { config } }: BenchServer) =>
  new pg.Client(connectionOf(config.database.url ?? "", config.database.reader));

/** One that is asked what the server is asked. */
async function startBareServer({ database }: BenchServer, corpus: Corpus, vector: Float32Array, byGraph: boolean) {
  const { connectionString } = connectionOf(database.config.database.url ?? "", database.config.database.reader);
  const { stop, printed } = await startPeerProcess(process.execPath, [
    BARE_SERVER,
    connectionString ?? "",
    ...[corpus, [...vector], byGraph].map((it) => JSON.stringify(it)),
  ]);
  const url = `http://127.0.0.1:${await printed(/ready .*"port":(\d+)/)}/rcp/retrieve`;
  const params = { query: "what is asked", mode: "dense", k: K };
  return { stop, ask: () => postJson(url, { jsonrpc: "2.0", id: 1, method: "retrieve", params }) };
}

/** The ten nearest with their texts as one would ask for them without tenants, policies or versions, of two tables: one has a graph. */
async function plainSqlFor(client: pg.Client, vector: Float32Array) {
  await client.query("set jit = off; set hnsw.ef_search = 100");
  for (const table of ["plain_exact", "plain_graph"])
    await client.query(
      `create table ${table} as select c.doc_id, t.body, d.meta, c.embedding from pgrcp.chunks c join pgrcp.documents d using (tenant_id, corpus, doc_id, added_version) join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)`,
    );
  await client.query(
    `create index on plain_graph using hnsw ((embedding::halfvec(${vector.length})) halfvec_cosine_ops) with (m = 32, ef_construction = 128)`,
  );
  await client.query("vacuum analyze");
  const ask = (table: string) => {
    const type = `halfvec(${vector.length})`;
    const distance = `embedding::${type} <=> $1::${type}`;
    const text = `select doc_id, body, meta, ${distance} as distance from ${table} order by ${distance} limit ${K}`;
    const values = [`[${vector.join(",")}]`];
    return async () => {
      const { rowCount } = await client.query({ text, values });
      if (rowCount !== K) throw new Error(`the query found ${rowCount} rows`);
    };
  };
  return { exact: ask("plain_exact"), graph: ask("plain_graph") };
}
