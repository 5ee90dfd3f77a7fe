import type { Corpus } from "../catalog/corpus.ts";
import type { TermBlock } from "../catalog/posting-block.ts";
import { plannedIn } from "./place.ts";
import { isRestricted, matching, ofCorpus, type Restriction, versionsOf } from "./recall.ts";
import { compile, type Sql, type Statement, sql } from "./sql.ts";
import { type ReadPoint, visibleAt } from "./visible.ts";

/** A row of what BM25 reads: a block of postings, or the chunks of a block that are closed or that pass the restriction. */
export type SparseRow =
  | (TermBlock & { readonly kind: "postings" })
  | { readonly kind: "closed"; readonly block: number; readonly offsets: string }
  | { readonly kind: "allowed"; readonly block: number; readonly offsets: string };

/** Chunks by block, as a `ChunkPage` has them: two bytes a chunk, where an array's text has eight that take long to read. */
const chunksByBlock = (corpus: Corpus, condition: Sql): Sql =>
  sql`select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where ${ofCorpus(corpus)} and ${condition} group by 1`;

/**
 * All that BM25 reads of some terms, in no order. Chunks are closed that the read point does not see any more. With a restriction, the
 * bytes of a block come only where it has chunks that pass, or where its live postings have to be told from others; for a pin, no
 * blocks of later chunks come. `offset 0` has each term looked up by the whole key, also where nobody analysed the table yet.
 *
 * @param terms each once
 */
export function postingsOfTerms(
  corpus: Corpus,
  at: ReadPoint,
  terms: readonly string[],
  restriction: Restriction,
): Statement<SparseRow> {
  const versions = versionsOf(corpus);
  const pinned = (column: Sql): Sql =>
    sql`(select ${column} from pgrcp.corpus_versions v where ${versions} and v.token = ${at.pin ?? ""})`;
  const isClosed =
    at.pin === undefined ? sql`removed_version is not null` : sql`removed_version <= ${pinned(sql`v.version`)}`;
  const last = at.pin === undefined ? undefined : pinned(sql`v.next_chunk >> 12`);
  const restricted = isRestricted(restriction);
  const passing = !restricted
    ? sql``
    : sql`, allowed as materialized (${chunksByBlock(corpus, sql`${visibleAt(at, versions)}${matching(restriction)}`)})`;
  const orLast = last === undefined ? sql`` : sql` or block = ${last}`;
  const packed = !restricted
    ? sql`encode(packed, 'base64')`
    : sql`case when block in (select block from allowed) or block in (select block from closed)${orLast} then encode(packed, 'base64') end`;
  const upToLast = last === undefined ? sql`` : sql` and block <= ${last}`;
  const allowed = !restricted ? sql`` : sql` union all select 'allowed', null, block, null, offsets, null from allowed`;
  const statement = compile(
    sql`with closed as materialized (${chunksByBlock(corpus, isClosed)})${passing}
select 'postings' as kind, term, block, n, ${packed} as packed, encode(wide, 'base64') as wide from unnest(${terms}::text[]) as asked
cross join lateral (select term, block, n, packed, wide from pgrcp.postings where tenant_id = ${corpus.tenantId} and corpus = ${corpus.name} and term = asked${upToLast} offset 0) found
union all select 'closed', null, block, null, offsets, null from closed${allowed}`,
    toSparseRow,
  );
  return plannedIn(corpus, statement, restricted);
}

function toSparseRow(row: Readonly<Record<string, unknown>>): SparseRow {
  const kind = row.kind as SparseRow["kind"];
  const block = row.block as number;
  if (kind !== "postings") return { kind, block, offsets: row.packed as string };
  return {
    kind,
    term: row.term as string,
    block,
    n: row.n as number,
    packed: (row.packed ?? undefined) as string | undefined,
    wide: row.wide as string,
  };
}
