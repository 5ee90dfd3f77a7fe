import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import { decodeBlock, type PostingBlock, postingsIn } from "../catalog/posting-block.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

const base64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");

/** Rows as statements write them: a table of term, block, n and bytes. Base64, for the drivers do not agree on arrays of bytea. */
export function postingRows(rows: readonly PostingBlock[]): Sql {
  const terms = rows.map((row) => row.term);
  const blocks = rows.map((row) => row.block);
  const counts = rows.map(postingsIn);
  const packed = rows.map((row) => base64(row.packed));
  const wide = rows.map((row) => base64(row.wide));
  return sql`unnest(${terms}::text[], ${blocks}::int[], ${counts}::int[], ${packed}::text[], ${wide}::text[]) as new(term, block, n, packed, wide)`;
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
 * @param rows of `packPostings`; no term twice with one block
 */
export function appendPostings(
  tenantId: TenantId,
  corpus: CorpusName,
  rows: readonly PostingBlock[],
): Statement<undefined> {
  return compile(
    sql`insert into pgrcp.postings as kept (tenant_id, corpus, term, block, n, packed, wide)
select ${tenantId}, ${corpus}, new.term, new.block, new.n, decode(new.packed, 'base64'), decode(new.wide, 'base64')
from ${postingRows(rows)}
on conflict (tenant_id, corpus, term, block) do update
set n = kept.n + excluded.n, packed = kept.packed || excluded.packed, wide = kept.wide || excluded.wide
where kept.tenant_id = ${tenantId}`,
    noRows,
  );
}
