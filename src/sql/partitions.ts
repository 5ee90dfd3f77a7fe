import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { CorpusKey } from "./documents.ts";
import { compile, identifier, integer, literal, noRows, type Sql, type Statement, sql } from "./sql.ts";

/**
 * The statements that give a large corpus a partition and a graph of its own, and take them back. The operator runs them as the
 * owner. Each that moves chunks names its tenant itself.
 */

const of = ({ tenantId, corpus }: CorpusKey): Sql => sql`tenant_id = ${tenantId} and corpus = ${corpus}`;

/** One maintainer at a time in a database. The lock goes with its session. */
const LOCK = 482_804_069_234n;

/** Names of what belongs to a placement. They are made of no tenant's words. */
const tableOf = (placement: string): string => `chunks_${placement}`;
const graphOf = (placement: string): string => `${tableOf(placement)}_graph`;
const qualified = (name: string): Sql => sql`pgrcp.${identifier(name)}`;

/** A corpus as placing sees it. */
export interface PlacedCorpus extends CorpusKey {
  readonly placement: string;
  readonly movingFrom: string | undefined;
  readonly dimension: number;
  readonly liveChunks: number;
  /** Numbers from here on are free. */
  readonly nextChunk: number;
  /** As it was when the graph was built; undefined = none that is whole. */
  readonly graph: { readonly chunks: number; readonly nextChunk: number } | undefined;
}

/** Corpora with more live chunks than `above`, and those that are not in the shared partition alone. @param key of one alone */
export function selectPlacedCorpora(above: number, key?: CorpusKey): Statement<PlacedCorpus> {
  const only = key === undefined ? sql`` : sql`${of(key)} and `;
  const graph = sql`exists (select from pg_index i where i.indexrelid = to_regclass('pgrcp.chunks_' || placement || '_graph') and i.indisvalid)`;
  return compile(
    sql`select tenant_id, corpus, placement, moving_from, dimension, live_chunks, next_chunk, case when ${graph} then graph_chunks end as graph_chunks, graph_next_chunk from pgrcp.corpora where ${only}(live_chunks > ${above}::bigint or placement <> 'shared' or moving_from is not null) order by tenant_id, corpus`,
    (row) => ({
      tenantId: row.tenant_id as TenantId,
      corpus: row.corpus as CorpusName,
      placement: row.placement as string,
      movingFrom: (row.moving_from as string | null) ?? undefined,
      dimension: row.dimension as number,
      liveChunks: row.live_chunks as number,
      nextChunk: row.next_chunk as number,
      graph:
        row.graph_chunks === null
          ? undefined
          : { chunks: row.graph_chunks as number, nextChunk: row.graph_next_chunk as number },
    }),
  );
}

/** One row: whether this session is the maintainer now. */
export const tryMaintainerLock: Statement<boolean> = compile(
  sql`select pg_try_advisory_lock(${LOCK}::bigint) as locked`,
  (row) => row.locked as boolean,
);

/** A session's settings. A build whose maintainer is gone is not finished for nobody. */
export function sessionSettings(buildMemoryMb: number, buildWorkers: number): readonly Statement[] {
  return [
    sql`set role pgrcp_owner`,
    sql`set client_connection_check_interval = '5s'`,
    sql`set maintenance_work_mem = ${literal(`${buildMemoryMb}MB`)}`,
    sql`set max_parallel_maintenance_workers = ${integer(buildWorkers)}`,
  ].map((statement) => compile(statement, noRows));
}

/**
 * Makes an empty partition with its policies. Made on its own and attached after, because `create table … partition of` would lock
 * every reader out, and attaching locks nobody; it also makes the indexes that the other partitions have.
 */
export function createPartition(placement: string): readonly Statement[] {
  const table = qualified(tableOf(placement));
  return [
    sql`create table ${table} (like pgrcp.chunks including defaults including constraints including storage)`,
    sql`alter table ${table} set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`,
    sql`select pgrcp_admin.protect_tenant_table(${literal(`pgrcp.${tableOf(placement)}`)}, '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}')`,
    sql`alter table pgrcp.chunks attach partition ${table} for values in (${literal(placement)})`,
  ].map((statement) => compile(statement, noRows));
}

/** Says where a corpus's chunks are from now on. Its graph is gone with that: it led to the ones in its own partition alone. */
export function startMove(key: CorpusKey, from: string, to: string): Statement {
  return compile(
    sql`update pgrcp.corpora set placement = ${to}, moving_from = ${from}, graph_chunks = null, graph_next_chunk = null where ${of(key)}`,
    noRows,
  );
}

export function endMove(key: CorpusKey): Statement {
  return compile(sql`update pgrcp.corpora set moving_from = null where ${of(key)}`, noRows);
}

/** Moves the next chunks by number; one row for each that moved. */
export function moveChunks(key: CorpusKey, from: string, to: string, after: number, limit: number): Statement<number> {
  return compile(
    sql`with next as materialized (
  select chunk_no from pgrcp.chunks where ${of(key)} and placement = ${from} and chunk_no > ${after}::int order by chunk_no limit ${limit}::int)
update pgrcp.chunks c set placement = ${to} from next where c.tenant_id = ${key.tenantId} and c.corpus = ${key.corpus} and c.placement = ${from} and c.chunk_no = next.chunk_no returning c.chunk_no`,
    (row) => row.chunk_no as number,
  );
}

export interface GraphShape {
  readonly m: number;
  readonly efConstruction: number;
}

/** Builds the graph over the live chunks, without stopping anybody. It needs a partition of one corpus, since it casts to its dimension. */
export function createGraph(placement: string, dimension: number, { m, efConstruction }: GraphShape): Statement {
  return compile(
    sql`create index concurrently ${identifier(graphOf(placement))} on ${qualified(tableOf(placement))} using hnsw ((embedding::halfvec(${integer(dimension)})) halfvec_cosine_ops) with (m = ${integer(m)}, ef_construction = ${integer(efConstruction)}) where removed_version is null`,
    noRows,
  );
}

export function rebuildGraph(placement: string): Statement {
  return compile(sql`reindex index concurrently ${qualified(graphOf(placement))}`, noRows);
}

/** A row if the graph is there and whole. */
export function selectGraph(placement: string): Statement {
  return compile(
    sql`select from pg_index i where i.indexrelid = to_regclass(${`pgrcp.${graphOf(placement)}`}) and i.indisvalid`,
    noRows,
  );
}

/** What the graph was built over, so that readers use it and its age can be told. */
export function markGraph(key: CorpusKey, chunks: number, nextChunk: number): Statement {
  return compile(
    sql`update pgrcp.corpora set graph_chunks = ${chunks}::bigint, graph_next_chunk = ${nextChunk}::int where ${of(key)} and moving_from is null`,
    noRows,
  );
}

export function analyzePartition(placement: string): Statement {
  return compile(sql`analyze ${qualified(tableOf(placement))}`, noRows);
}

/** Graphs that an interrupted build left: kept up by every write and used by no query. One row each, its name. What `migrate` builds is its own. */
export const selectBrokenIndexes: Statement<string> = compile(
  sql`select i.relname::text as name from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
where not x.indisvalid and t.relnamespace = 'pgrcp'::regnamespace and starts_with(t.relname, 'chunks_p_') and starts_with(i.relname, t.relname || '_graph') order by 1`,
  (row) => row.name as string,
);

export function dropIndex(name: string): Statement {
  return compile(sql`drop index concurrently if exists ${qualified(name)}`, noRows);
}

/** A partition that is no corpus's any more. */
export interface UnusedPartition {
  readonly table: string;
  readonly state: "attached" | "detaching" | "detached";
}

export const selectUnusedPartitions: Statement<UnusedPartition> = compile(
  sql`select t.relname::text as "table", case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state
from pg_class t left join pg_inherits i on i.inhrelid = t.oid
where t.relnamespace = 'pgrcp'::regnamespace and t.relkind = 'r' and starts_with(t.relname, 'chunks_p_')
  and not exists (select from pgrcp.corpora c where 'chunks_' || c.placement = t.relname or 'chunks_' || c.moving_from = t.relname)
order by 1`,
  (row) => row as unknown as UnusedPartition,
);

/** Takes a partition away, which locks nobody out: not within a transaction, and `drop table` on an attached one would. */
export function dropPartition({ table, state }: UnusedPartition): readonly Statement[] {
  const name = qualified(table);
  return [
    ...(state === "attached" ? [sql`alter table pgrcp.chunks detach partition ${name} concurrently`] : []),
    ...(state === "detaching" ? [sql`alter table pgrcp.chunks detach partition ${name} finalize`] : []),
    sql`drop table ${name}`,
  ].map((statement) => compile(statement, noRows));
}
