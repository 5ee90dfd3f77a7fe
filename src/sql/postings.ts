import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import { decodeBlock, type PostingBlock, postingsIn } from "../catalog/posting-block.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/**
 * Rows as statements write them: a table of term, block, n, packed and wide. The bytes of all rows come as two values of which each row is a
 * piece: the drivers do not agree on arrays of bytea, and to spell each in base64 takes longer than to pack it.
 */
export function postingRows(rows: readonly PostingBlock[]): Sql {
  const terms = rows.map((row) => row.term);
  const blocks = rows.map((row) => row.block);
  const counts = rows.map(postingsIn);
  const packed = rows.map((row) => row.packed);
  const wide = rows.map((row) => row.wide);
  return sql`(select r.term, r.block, r.n, substr(${Buffer.concat(packed)}::bytea, r.packed_at, r.n * 4) as packed, substr(${Buffer.concat(wide)}::bytea, r.wide_at, r.wide_size) as wide
from unnest(${terms}::text[], ${blocks}::int[], ${counts}::int[], ${placesOf(packed)}::int[], ${placesOf(wide)}::int[], ${wide.map((bytes) => bytes.length)}::int[]) as r(term, block, n, packed_at, wide_at, wide_size)) as new`;
}

/** Where each begins when they stand one behind the other, from 1. */
function placesOf(pieces: readonly Uint8Array[]): number[] {
  let at = 1;
  return pieces.map(({ length }) => {
    at += length;
    return at - length;
  });
}

/**
 * What statements read of a row. Base64 of 16 MB is read in a ninth of the time of bytea's hexadecimal on the embedded database and
 * two thirds of it on Postgres.
 */
export const postingColumns = sql`term, block, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide`;

export const toPosting = (row: Readonly<Record<string, unknown>>): PostingBlock =>
  decodeBlock(row as { term: string; block: number; packed: string; wide: string });

/**
 * Adds blocks to the index: a new term gets a row, a known one's bytes grow at the end. The chunks must be new to the corpus,
 * for nothing here looks for a posting that is there already.
 *
 * @param rows no term twice with one block, in the order of packing
 */
export function appendPostings(
  tenantId: TenantId,
  corpus: CorpusName,
  rows: readonly PostingBlock[],
): Statement<undefined> {
  return compile(
    sql`insert into pgrcp.postings as kept (tenant_id, corpus, term, block, n, packed, wide)
select ${tenantId}, ${corpus}, new.term, new.block, new.n, new.packed, new.wide
from ${postingRows(rows)}
on conflict (tenant_id, corpus, term, block) do update
set n = kept.n + excluded.n, packed = kept.packed || excluded.packed, wide = kept.wide || excluded.wide
where kept.tenant_id = ${tenantId}`,
    noRows,
  );
}
