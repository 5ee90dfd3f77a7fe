import type { TenantId } from "../../src/catalog/corpus.ts";
import type { OperatorDatabase, StatementLimits } from "../../src/db/database.ts";
import { compile, noRows, type Sql, type Statement, sql } from "../../src/sql/sql.ts";

/** Rows by hand, as SQL: tests of the database layer must not depend on the folders above it. */

export const tenant = (id: string) => id as TenantId;

export const limits = (timeoutMs = 10_000, signal = new AbortController().signal): StatementLimits => ({
  signal,
  timeoutMs,
});

export const run = (statement: Sql): Statement<undefined> => compile(statement, noRows);

export const rows = <Row extends object>(statement: Sql): Statement<Row> => compile(statement, (row) => row as Row);

const at = (tenantId: string, corpus: string): Sql => sql`${tenantId}, ${corpus}`;

export const insertDocument = (tenantId: string, docId: string, version: number, closed: number | null = null): Sql =>
  sql`insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, removed_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
values (${at(tenantId, "default")}, ${docId}, ${version}, ${closed}::bigint, 'api', 'iss', 'sub', 'untrusted', false, false, '{}', 1)`;

export const insertChunk = (tenantId: string, docId: string, version: number, chunkNo: number): Sql =>
  sql`insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, embedding)
values (${at(tenantId, "default")}, 'shared', ${chunkNo}, ${docId}, 0, ${version}, 3, 0, 4, '[1,0]'::halfvec)`;

export const closeDocument = (tenantId: string, docId: string, version: number): Sql =>
  sql`update pgrcp.documents set removed_version = ${version} where tenant_id = ${tenantId} and corpus = 'default' and doc_id = ${docId} and removed_version is null`;

export const closeChunks = (tenantId: string, docId: string, version: number): Sql =>
  sql`update pgrcp.chunks set removed_version = ${version} where tenant_id = ${tenantId} and corpus = 'default' and doc_id = ${docId} and removed_version is null`;

/** One row in every table: the tenant's corpus `default` at version 1, with the live document `doc` of one chunk. */
export async function seed(operator: OperatorDatabase, tenantId: string): Promise<void> {
  const statements = [
    sql`insert into pgrcp.tenants (tenant_id) values (${tenantId})`,
    sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening, version, next_chunk, live_documents, live_chunks, live_length)
values (${at(tenantId, "default")}, 'english', 'test', 2, 'flag', 1, 1, 1, 1, 3)`,
    sql`insert into pgrcp.corpus_versions (tenant_id, corpus, version, token, issuer, subject, action, live_documents, live_chunks, live_length, next_chunk)
values (${at(tenantId, "default")}, 1, 'v1', 'iss', 'sub', 'add', 1, 1, 3, 1)`,
    insertDocument(tenantId, "doc", 1),
    sql`insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body) values (${at(tenantId, "default")}, 'doc', 1, 'text')`,
    insertChunk(tenantId, "doc", 1, 0),
    sql`insert into pgrcp.postings (tenant_id, corpus, term, block, n, packed) values (${at(tenantId, "default")}, 'text', 0, 1, '\\x00001003')`,
    sql`insert into pgrcp.revoked_sources (tenant_id, source) values (${tenantId}, 'bad')`,
    sql`insert into pgrcp.revoked_documents (tenant_id, corpus, doc_id, added_version, source, revoked_version)
values (${at(tenantId, "default")}, 'gone', 1, 'bad', 2)`,
    sql`insert into pgrcp.idempotency_keys (tenant_id, issuer, subject, client, credential, key_hash, request_hash, result, expires_at)
values (${tenantId}, 'iss', 'sub', 'cli', 'add', '\\x01', '\\x02', '{}', now() + interval '1 hour')`,
    sql`insert into pgrcp_state.trajectories (tenant_id, owner_hash, session_hash, chunk_nos, document_nos, expires_at)
values (${tenantId}, '\\x01', '\\x02', '{1}', '{}', now() + interval '1 hour')`,
    sql`insert into pgrcp_state.ranked_lists (tenant_id, list_id, owner_hash, index_version, candidates, entries, expires_at)
values (${tenantId}, '\\x01', '\\x02', 'v1', 1, '\\x03', now() + interval '1 hour')`,
    sql`insert into pgrcp_state.cursor_keys (tenant_id, key) values (${tenantId}, decode(repeat('07', 32), 'hex'))`,
    sql`insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, hit_id, expires_at)
values (${tenantId}, '00000000-0000-4000-8000-000000000000', 1, 'default', 'iss', 'sub', 'cli', 'doc', now() + interval '1 hour')`,
    sql`insert into pgrcp_state.audit (tenant_id, action, issuer, subject, method, count) values (${tenantId}, 'refuse', 'iss', 'sub', 'retrieve', 1)`,
    sql`insert into pgrcp_state.sessions (tenant_id, session_hash, issuer, subject, client, capabilities, expires_at)
values (${tenantId}, '\\x01', 'iss', 'sub', 'cli', '{}', now() + interval '1 hour')`,
  ];
  await operator.write(async (transaction) => {
    for (const statement of statements) await transaction.query(run(statement));
  });
}
