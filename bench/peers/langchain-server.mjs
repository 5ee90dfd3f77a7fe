import { PGVectorStore } from "@langchain/community/vectorstores/pgvector";
import Fastify from "fastify";
import pg from "pg";

/**
 * LangChain's PGVectorStore behind one route, as its users put it there. Runs where its packages are installed:
 *
 *     node langchain-server.mjs <database url> <dimension> <index's m> <index's ef_construction>
 *
 * POST /tables {table} makes one; POST /indexes {table} its graph; POST /search {table, vector, k, ef, filter} asks it. `ef` is a setting of the connections,
 * so there is a pool for each. No token is asked for.
 */
const [url, dimension, m, efConstruction] = process.argv.slice(2);
// Vectors come from the caller: no model is asked.
const embeddings = { embedQuery: async () => [], embedDocuments: async () => [] };
const pools = new Map();
const stores = new Map();

function poolOf(ef) {
  const pool =
    pools.get(ef) ??
    new pg.Pool({ connectionString: url, max: 10, options: `-c hnsw.ef_search=${ef} -c maintenance_work_mem=1GB` });
  pools.set(ef, pool);
  return pool;
}

// Not by `initialize`, with which each store would keep a connection of the pool to itself.
function storeOf(table, ef) {
  const key = `${table} ${ef}`;
  const store =
    stores.get(key) ??
    new PGVectorStore(embeddings, {
      pool: poolOf(ef),
      tableName: table,
      distanceStrategy: "cosine",
      columns: { vectorColumnName: "embedding" },
    });
  stores.set(key, store);
  return store;
}

const server = Fastify();
server.post("/tables", async ({ body: { table } }) => {
  await storeOf(table, 40).ensureTableInDatabase(Number(dimension));
  return {};
});
server.post("/indexes", async ({ body: { table } }) => {
  const graph = { dimensions: Number(dimension), m, efConstruction, namespace: table };
  await storeOf(table, 40).createHnswIndex(graph);
  return {};
});
server.post("/search", async ({ body: { table, vector, k, ef, filter } }) => {
  const found = await storeOf(table, ef).similaritySearchVectorWithScore(vector, k, filter);
  return found.map(([{ id, pageContent, metadata }, score]) => ({ id, text: pageContent, metadata, score }));
});
console.log(`ready ${await server.listen({ host: "127.0.0.1", port: 0 })}`);
