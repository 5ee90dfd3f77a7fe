import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { installedVersions, type NodePeers } from "./install.ts";
import { GRAPH, type Peer, type Width } from "./peer.ts";
import { postJson, startPeerProcess } from "./process.ts";
import { K, type PeerTenant } from "./tenants.ts";

const SERVER = fileURLToPath(new URL("langchain-server.mjs", import.meta.url));
const EVERYONE = "langchain_everyone";

/**
 * LangChain's PGVectorStore behind a route of Fastify, in its two usual forms: a table and a graph per tenant, and one table and graph for
 * all with the tenant in the metadata, where a walk finds other tenants' chunks and drops them. Neither asks for a token.
 */
export async function openLangChain(
  owner: pg.Client,
  url: string,
  tenants: readonly PeerTenant[],
  peers: NodePeers,
  { sharedTable }: { readonly sharedTable: boolean },
): Promise<{ stores: readonly Peer[]; close(): Promise<void> }> {
  const script = join(peers.folder, "langchain-server.mjs");
  await copyFile(SERVER, script);
  const { dimension = 0 } = tenants[0]?.vectors ?? {};
  const server = await startPeerProcess(
    process.execPath,
    [script, url, dimension, GRAPH.m, GRAPH.efConstruction].map(String),
  );
  const base = await server.printed(/ready (\S+)/);
  const tables = tenants.map(({ name }) => `langchain_${name}`);
  for (const table of sharedTable ? [...tables, EVERYONE] : tables) {
    await postJson(`${base}/tables`, { table });
    await owner.query(
      `insert into ${table} (text, metadata, embedding) select body, jsonb_build_object('id', id, 'tenant', tenant), embedding from source where $1 in ('${EVERYONE}', 'langchain_' || tenant)`,
      [table],
    );
    await postJson(`${base}/indexes`, { table });
    await owner.query(`vacuum analyze ${table}`);
  }
  const settings = { ...(await installedVersions(peers)), ...GRAPH, type: "vector", token: "none" };
  const peer = (name: string, isolates: boolean, tableOf: (tenant: PeerTenant) => object): Peer => {
    let ef: Width = 40;
    return {
      name,
      isolates,
      settings,
      canBeExact: false,
      async setWidth(_tenants, width) {
        ef = width;
      },
      async search({ tenant, vector }) {
        const found = await postJson(`${base}/search`, { ...tableOf(tenant), vector: [...vector], k: K, ef });
        return (found as readonly { metadata: { id: string } }[]).map(({ metadata }) => metadata.id);
      },
      close: async () => {},
    };
  };
  const perTenant = peer("LangChain PGVectorStore, a table per tenant", true, ({ name }) => ({
    table: `langchain_${name}`,
  }));
  const shared = peer("LangChain PGVectorStore, a metadata filter", false, ({ name }) => ({
    table: EVERYONE,
    filter: { tenant: name },
  }));
  return { stores: sharedTable ? [perTenant, shared] : [perTenant], close: () => server.stop() };
}
