import type { PostingBlock } from "../catalog/posting-block.ts";
import type { CorpusKey } from "./documents.ts";
import { postingColumns, postingRows, toPosting } from "./postings.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/** The statements of retention, which the operator runs across tenants. Each names its tenant itself. */

const of = ({ tenantId, corpus }: CorpusKey): Sql => sql`tenant_id = ${tenantId} and corpus = ${corpus}`;

/** A corpus, and the version that was its newest one when the time that is kept began: what is older is collected. */
export interface Horizon extends CorpusKey {
  readonly version: number;
}

/** Every corpus that is older than that. */
export function selectHorizons(keptHours: number): Statement<Horizon> {
  return compile(
    sql`select tenant_id, corpus, max(version) as version from pgrcp.corpus_versions where committed_at <= now() - make_interval(hours => ${keptHours}::int) group by tenant_id, corpus order by tenant_id, corpus`,
    (row) => ({
      tenantId: row.tenant_id as Horizon["tenantId"],
      corpus: row.corpus as Horizon["corpus"],
      version: row.version as number,
    }),
  );
}

/** A document, or a chunk of one, that no restore can ask for. */
const isNotRevoked = (row: Sql): Sql =>
  sql`not exists (select from pgrcp.revoked_documents r where r.tenant_id = ${row}.tenant_id and r.corpus = ${row}.corpus and r.doc_id = ${row}.doc_id and r.added_version = ${row}.added_version)`;

/** One row for each version that can no longer be asked for. */
export function withdrawVersions(horizon: Horizon): Statement<number> {
  return compile(
    sql`update pgrcp.corpus_versions set token = null where ${of(horizon)} and version < ${horizon.version} and token is not null returning version`,
    (row) => row.version as number,
  );
}

/** One row: chunks that neither the horizon nor any later version has, and that no restore can ask for. */
export function selectGoneChunks(horizon: Horizon): Statement<readonly number[]> {
  return compile(
    sql`select coalesce(array_agg(chunk_no order by chunk_no), '{}') as chunk_nos from pgrcp.chunks c where ${of(horizon)} and removed_version <= ${horizon.version} and ${isNotRevoked(sql`c`)}`,
    (row) => row.chunk_nos as number[],
  );
}

/** The next posting rows of some blocks, in the order that writers lock them in. */
export function selectPostings(
  key: CorpusKey,
  blocks: readonly number[],
  after: { readonly term: string; readonly block: number },
  limit: number,
): Statement<PostingBlock> {
  return compile(
    sql`select ${postingColumns} from pgrcp.postings where ${of(key)} and block = any(${blocks}::int[]) and (term, block) > (${after.term}, ${after.block}::int) order by term, block limit ${limit}::int`,
    toPosting,
  );
}

/** Writes rows over. A writer that could append to one meanwhile must be locked out. */
export function rewritePostings(key: CorpusKey, rows: readonly PostingBlock[]): Statement {
  return compile(
    sql`update pgrcp.postings p set n = new.n, packed = new.packed, wide = new.wide
from ${postingRows(rows)}
where p.tenant_id = ${key.tenantId} and p.corpus = ${key.corpus} and p.term = new.term and p.block = new.block`,
    noRows,
  );
}

export function deletePostings(key: CorpusKey, rows: readonly PostingBlock[]): Statement {
  const terms = rows.map((row) => row.term);
  const blocks = rows.map((row) => row.block);
  return compile(
    sql`delete from pgrcp.postings p using unnest(${terms}::text[], ${blocks}::int[]) as old(term, block)
where p.tenant_id = ${key.tenantId} and p.corpus = ${key.corpus} and p.term = old.term and p.block = old.block`,
    noRows,
  );
}

export function deleteChunks(key: CorpusKey, chunkNos: readonly number[]): Statement {
  return compile(sql`delete from pgrcp.chunks where ${of(key)} and chunk_no = any(${chunkNos}::int[])`, noRows);
}

/** One row for each document that went with its text; at most `limit`. */
export function deleteDocuments(horizon: Horizon, limit: number): Statement<string> {
  return compile(
    sql`with gone as (
  delete from pgrcp.documents where ${of(horizon)} and (doc_id, added_version) in (
    select doc_id, added_version from pgrcp.documents d where ${of(horizon)} and removed_version <= ${horizon.version} and ${isNotRevoked(sql`d`)} limit ${limit}::int)
  returning doc_id, added_version
), texts as (
  delete from pgrcp.document_texts t using gone where t.tenant_id = ${horizon.tenantId} and t.corpus = ${horizon.corpus} and t.doc_id = gone.doc_id and t.added_version = gone.added_version
)
select doc_id from gone`,
    (row) => row.doc_id as string,
  );
}
