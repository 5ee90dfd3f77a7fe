import { fileURLToPath } from "node:url";
import pg from "pg";
import type { Corpus, CorpusName, TenantId } from "../src/catalog/corpus.ts";
import { connectionOf } from "../src/db/pools.ts";
import { testEmbeddingModel } from "../test/support/test-embedding.ts";
import { denseSql } from "./dense-sql.ts";
import { postJson, startPeerProcess } from "./peers/process.ts";
import { type BenchServer, startBenchServer } from "./server.ts";
import { interleaved, median, throughput } from "./statistics.ts";

/**
 * What the server adds to its SQL: `retrieve` by dense recall over HTTP with a token, the query's vector cached, beside the same
 * statements sent by the driver as the same login, beside the least server that sends them, and beside one plain query without tenants.
 */

const DIMENSION = 384;
export const TENANT = "acme" as TenantId;
const K = 10;
const CLIENTS = 8;
const BARE_SERVER = fileURLToPath(new URL("bare-server.ts", import.meta.url));

export interface Overhead {
  readonly chunks: number;
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

const WORDS = Array.from({ length: 4_000 }, (_, n) => `w${n.toString(36)}`);
const textOf = (n: number) =>
  Array.from({ length: 30 }, (_, at) => WORDS[(n * 7_919 + at * 104_729) % (at % 3 === 0 ? 60 : WORDS.length)]).join(
    " ",
  );
export const QUERY = "w1 w2 w3 w4";

export async function measureOverhead(
  chunks: number,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<Overhead> {
  const server = await startBenchServer({ dimension: DIMENSION });
  const clients = Array.from({ length: CLIENTS }, () => readerOf(server));
  const admin = new pg.Client({ connectionString: server.database.config.database.url });
  const vector = await vectorOfQuery();
  const bare = await startBareServer(server, vector);
  try {
    await Promise.all([...clients, admin].map((client) => client.connect()));
    const token = await server.issuer.mint({ tenant: TENANT, credentials: ["read", "add"], expiresIn: 3_600 });
    await fill(server, token, chunks);
    await admin.query("vacuum analyze");
    const retrieve = () => server.call("retrieve", { query: QUERY, mode: "dense", k: K }, token);
    const sameSql = denseSql(CORPUS, vector, { byGraph: false });
    const [first] = clients;
    if (first === undefined) throw new Error("there is at least one client");
    const rates = { retrieve: [] as number[], bare: [] as number[], sameSql: [] as number[] };
    for (let turn = 0; turn < 3; turn++) {
      rates.retrieve.push(await throughput(retrieve, { clients: CLIENTS, seconds }));
      rates.bare.push(await throughput(bare.ask, { clients: CLIENTS, seconds }));
      rates.sameSql.push(
        await throughput((client) => sameSql(clients[client] ?? first), { clients: CLIENTS, seconds }),
      );
    }
    // By now the server has been asked so often that its code is compiled as it stays.
    const took = await interleaved(
      {
        ping: () => server.call("ping", {}, token),
        retrieve,
        bare: bare.ask,
        sameSql: () => sameSql(first),
        plainSql: await plainSqlFor(admin, vector),
      },
      { rounds, perRound: 10 },
    );
    return {
      chunks,
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
    await Promise.all([...clients, admin].map((client) => client.end()));
    await server.close();
  }
}

const urlOf = ({ database }: BenchServer): string => database.config.database.url ?? "";
const readerOf = (server: BenchServer) =>
  new pg.Client(connectionOf(urlOf(server), server.database.config.database.reader));

export async function fill(server: BenchServer, token: string, chunks: number): Promise<void> {
  const perCall = 100;
  for (let at = 0; at < chunks; at += perCall) {
    const documents = Array.from({ length: perCall }, (_, n) => ({ id: `d${at + n}`, text: textOf(at + n) }));
    await server.call("index/add", { documents }, token);
  }
}

const CORPUS = { tenantId: TENANT, name: "default" as CorpusName, placement: "shared" } as Corpus;

async function vectorOfQuery(): Promise<Float32Array> {
  const model = testEmbeddingModel({ dimension: DIMENSION });
  const [vector] = await model.embed([QUERY], "query", AbortSignal.timeout(1_000));
  if (vector === undefined) throw new Error("the model gives a vector for each text");
  return vector;
}

/** One that is asked what the server is asked. */
async function startBareServer({ database }: BenchServer, vector: Float32Array) {
  const { connectionString } = connectionOf(database.config.database.url ?? "", database.config.database.reader);
  const { stop, printed } = await startPeerProcess(process.execPath, [
    BARE_SERVER,
    connectionString ?? "",
    JSON.stringify(CORPUS),
    JSON.stringify([...vector]),
  ]);
  const url = `http://127.0.0.1:${await printed(/ready .*"port":(\d+)/)}/rcp/retrieve`;
  const params = { query: QUERY, mode: "dense", k: K };
  return { stop, ask: () => postJson(url, { jsonrpc: "2.0", id: 1, method: "retrieve", params }) };
}

/** The ten nearest with their texts as one would ask for them without tenants, policies or versions. */
async function plainSqlFor(client: pg.Client, vector: Float32Array): Promise<() => Promise<void>> {
  await client.query("set jit = off");
  await client.query(
    "create table plain as select c.doc_id, t.body, d.meta, c.embedding from pgrcp.chunks c join pgrcp.documents d using (tenant_id, corpus, doc_id, added_version) join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)",
  );
  await client.query("vacuum analyze plain");
  const text = "select doc_id, body, meta, embedding <=> $1::halfvec as distance from plain order by distance limit 10";
  const values = [`[${vector.join(",")}]`];
  return async () => {
    const { rowCount } = await client.query({ text, values });
    if (rowCount !== K) throw new Error(`the query found ${rowCount} rows`);
  };
}
