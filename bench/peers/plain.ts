import pg from "pg";
import { vectorLiteral } from "../../src/sql/halfvec.ts";
import { CLIENTS, GRAPH, type Peer } from "./peer.ts";
import { K, type PeerTenant } from "./tenants.ts";

/**
 * pgvector without a server: a table with a partition and a graph for each tenant, half precision as pgrcp has, asked by the driver with a
 * named statement. No token, no policy, no HTTP: what there is to come close to.
 */
export async function openPlain(owner: pg.Client, url: string, tenants: readonly PeerTenant[]): Promise<Peer> {
  await owner.query(
    "create table plain (tenant text, id text, body text, meta jsonb, embedding halfvec(384)) partition by list (tenant)",
  );
  await owner.query("set maintenance_work_mem = '1GB'");
  for (const { name } of tenants) {
    await owner.query(`create table plain_${name} partition of plain for values in ('${name}')`);
    await owner.query(`alter table plain_${name} alter embedding set storage plain`);
    await owner.query(
      `insert into plain select tenant, id, body, '{}', embedding::halfvec from source where tenant = '${name}'`,
    );
    await owner.query(
      `create index on plain_${name} using hnsw (embedding halfvec_cosine_ops) with (m = ${GRAPH.m}, ef_construction = ${GRAPH.efConstruction})`,
    );
  }
  await owner.query("vacuum analyze plain");
  const clients = Array.from({ length: CLIENTS }, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  const { rows } = await owner.query<{ postgres: string; pgvector: string }>(
    "select current_setting('server_version') as postgres, extversion as pgvector from pg_extension where extname = 'vector'",
  );
  const text = `select id, body, meta, embedding <=> $1 as distance from plain where tenant = $2 order by embedding <=> $1 limit ${K}`;
  return {
    name: "pgvector, a partition per tenant",
    isolates: true,
    settings: { ...rows[0], ...GRAPH, type: "halfvec", query: text, http: "none: asked by the driver", token: "none" },
    canBeExact: true,
    async setWidth(_tenants, width) {
      const settings =
        width === "exact"
          ? "enable_indexscan = off"
          : `enable_indexscan = on; set enable_seqscan = off; set hnsw.ef_search = ${width}`;
      // A plan that was made for another width would stay.
      for (const client of clients)
        await client.query(`set jit = off; discard plans; reset enable_seqscan; set ${settings}`);
    },
    async search({ tenant, vector }, client) {
      const values = [vectorLiteral(vector), tenant.name];
      const { rows: nearest } = await (clients[client] as pg.Client).query<{ id: string }>({
        name: "nearest",
        text,
        values,
      });
      return nearest.map(({ id }) => id);
    },
    close: async () => void (await Promise.all(clients.map((client) => client.end()))),
  };
}
