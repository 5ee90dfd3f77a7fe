import { join } from "node:path";
import { type PythonPeers, packageVersion } from "./install.ts";
import { GRAPH, type Peer } from "./peer.ts";
import { freePort, type PeerProcess, postJson, requestJson, startPeerProcess } from "./process.ts";
import { batches, idOf, K, type PeerTenant } from "./tenants.ts";

const DATABASE = "/api/v2/tenants/default_tenant/databases/default_database";
/** The server takes no more than 5,461 at a time. */
const BATCH = 2_000;

/** Chroma's server with a collection per tenant, asked over HTTP without a token. */
export async function openChroma(tenants: readonly PeerTenant[], peers: PythonPeers, data: string): Promise<Peer> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}${DATABASE}`;
  const start = async (): Promise<PeerProcess> => {
    const server = await startPeerProcess(join(peers.bin, "chroma"), [
      "run",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--path",
      join(data, "chroma"),
    ]);
    await server.answers(`http://127.0.0.1:${port}/api/v2/heartbeat`);
    return server;
  };
  let server = await start();
  const collections = new Map<string, string>();
  const hnsw = { space: "cosine", ef_construction: GRAPH.efConstruction, max_neighbors: GRAPH.m };
  for (const tenant of tenants) {
    const { id } = (await postJson(`${base}/collections`, { name: tenant.name, configuration: { hnsw } })) as {
      id: string;
    };
    collections.set(tenant.name, id);
    for (const numbers of batches(tenant, BATCH))
      await postJson(`${base}/collections/${id}/add`, {
        ids: numbers.map(idOf),
        documents: numbers.map(tenant.vectors.text),
        embeddings: numbers.map((number) => Buffer.from(tenant.vectors.chunk(number).buffer).toString("base64")),
      });
  }
  return {
    name: "Chroma, a collection per tenant",
    isolates: true,
    settings: { chromadb: await packageVersion(peers, "chromadb"), ...hnsw, token: "none" },
    canBeExact: false,
    async setWidth(some, width) {
      for (const { name } of some)
        await requestJson("PUT", `${base}/collections/${collections.get(name)}`, {
          new_configuration: { hnsw: { ef_search: width } },
        });
      // A graph that is in memory keeps the width that it was opened with.
      await server.stop();
      server = await start();
    },
    async search({ tenant, vector }) {
      const answer = await postJson(`${base}/collections/${collections.get(tenant.name)}/query`, {
        query_embeddings: [[...vector]],
        n_results: K,
        include: ["documents", "metadatas", "distances"],
      });
      return (answer as { ids: readonly (readonly string[])[] }).ids[0] ?? [];
    },
    close: () => server.stop(),
  };
}
