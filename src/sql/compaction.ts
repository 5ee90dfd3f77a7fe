import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/** The statements that give back room in `pgrcp.postings`, for its owner, across tenants. */

/** Of a page; what stays free of one for blocks that grow in place is the table's fillfactor. */
const PAGE_BYTES = 8_192;

/** How much room the table takes, and how much its rows would take in new pages. */
export interface PostingsRoom {
  /** Pages of the table itself, and how many of them new ones would be. */
  readonly pages: number;
  readonly neededPages: number;
  /** Bytes of blocks that do not fit into a row and lie out of line, as they are and as they would be. */
  readonly outBytes: number;
  readonly neededOutBytes: number;
  /** Of both indexes: the rows' and that of what lies out of line. */
  readonly indexBytes: number;
  readonly neededIndexBytes: number;
}

/** A row over this is kept out of line: `toast_tuple_target`. */
const IN_ROW_BYTES = 8_000;

/** Pages that are looked at for how much is in them. */
const SAMPLED_PAGES = 2_000;

/** One row. Where there are many pages it is an estimate from some of them; no block that lies out of line is read. */
export function postingsRoom(): Statement<PostingsRoom> {
  const pages = sql`pg_relation_size('pgrcp.postings') / ${PAGE_BYTES}::int`;
  const share = sql`least(1, ${SAMPLED_PAGES}::float8 / greatest(1, ${pages}))`;
  return compile(
    sql`with sizes as (
  select octet_length(tenant_id) + octet_length(corpus) + octet_length(term) as key, octet_length(packed) + octet_length(wide) as bytes
  from pgrcp.postings tablesample system (100 * ${share})
), needed as (
  select coalesce(sum(56 + key + case when bytes <= ${IN_ROW_BYTES}::int then bytes else 18 end), 0) / ${share} as rows, coalesce(sum(bytes) filter (where bytes > ${IN_ROW_BYTES}::int), 0) / ${share} as out, coalesce(sum(28 + key), 0) / ${share} as keys from sizes
)
select ${pages} as pages, ceil(needed.rows / (0.8 * ${PAGE_BYTES}::int))::bigint as needed_pages,
  coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) as out_bytes, (needed.out * 1.1)::bigint as needed_out_bytes,
  pg_indexes_size('pgrcp.postings') + coalesce(pg_indexes_size(nullif(c.reltoastrelid, 0)), 0) as index_bytes, ((needed.keys + needed.out / 100) / 0.9)::bigint as needed_index_bytes
from needed, pg_class c where c.oid = 'pgrcp.postings'::regclass`,
    (row) => ({
      pages: row.pages as number,
      neededPages: row.needed_pages as number,
      outBytes: row.out_bytes as number,
      neededOutBytes: row.needed_out_bytes as number,
      indexBytes: row.index_bytes as number,
      neededIndexBytes: row.needed_index_bytes as number,
    }),
  );
}

/** Who rewrites rows by their keys and who moves rows wait for each other: a write would pass by a row that is deleted and added meanwhile. */
const LOCK = 482_804_069_235;

/** Rows stay where they are until the end of the transaction. */
export const keepPostingsInPlace: Statement = compile(
  sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)`,
  noRows,
);

/** Nobody rewrites rows by their keys until the end of the transaction, which moves some. */
export const lockPostingsPlaces: Statement = compile(sql`select pg_advisory_xact_lock(${LOCK}::bigint)`, noRows);

/** Rows of some pages that no writer holds: whoever waited for one while it holds others would meet writers in a deadlock. */
const freeRows = (fromPage: number, toPage: number, condition: Sql): Sql =>
  sql`ctid = any(array(select ctid from pgrcp.postings where ctid >= ${`(${fromPage},0)`}::tid and ctid < ${`(${toPage},0)`}::tid${condition} for update skip locked))`;

/** The rows of some pages are written again, into the first pages with room: right after a vacuum those are the lowest. */
export function movePostings(fromPage: number, toPage: number): Statement {
  return compile(
    sql`with moved as (delete from pgrcp.postings where ${freeRows(fromPage, toPage, sql``)} returning tenant_id, corpus, term, block, n, packed, wide)
insert into pgrcp.postings (tenant_id, corpus, term, block, n, packed, wide) select tenant_id, corpus, term, block, n, packed, wide from moved`,
    noRows,
  );
}

/** As `movePostings`, of bytes that lie out of line: the rows stay where they are. */
export function moveOutOfLine(fromPage: number, toPage: number): Statement {
  const isOut = sql` and octet_length(packed) + octet_length(wide) > ${IN_ROW_BYTES}::int`;
  return compile(
    sql`update pgrcp.postings set packed = packed || ''::bytea where ${freeRows(fromPage, toPage, isOut)}`,
    noRows,
  );
}

/**
 * Makes room that dead rows took usable again, and gives back pages at the end that are empty. Nobody waits for it. The index is cleaned
 * however little there is to clean: a page that has one entry left to remove is not empty.
 */
export const vacuumPostings = (): Statement => compile(sql`vacuum (index_cleanup on) pgrcp.postings`, noRows);

/** Builds the indexes anew beside the old ones: that of what lies out of line, too. */
export const reindexPostings = (): Statement => compile(sql`reindex table concurrently pgrcp.postings`, noRows);
