import type pg from "pg";
import type { CorpusName, TenantId } from "../src/catalog/corpus.ts";
import { BLOCK_SIZE, type ChunkTerms, packPostings } from "../src/catalog/posting-block.ts";
import { countTerms, tokenize } from "../src/catalog/tokenize.ts";
import { runBatch } from "../src/db/batch.ts";
import { appendPostings } from "../src/sql/postings.ts";
import { valuesOf } from "./filters.ts";
import type { Vectors } from "./vectors.ts";

/**
 * Puts a corpus of one-chunk documents where writes put them, as the owner of everything: as many as one pleases, in the shared partition,
 * at its first version and, unless they are asked for, without postings (only dense search finds them) and without fingerprints (none is
 * near another).
 */

const CORPUS = "default" as CorpusName;
const LANGUAGE = "none";
/** Where terms are not counted. */
const LENGTH = 8;

const INSERT = `with new as (
  select * from unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::text[], $9::vector[], $10::bit(128)[], $11::text[], $12::int[])
    as new(chunk_no, body, kind, rank, tag, note, side, embedding, fingerprint, doc_id, terms)),
documents as (
  insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
  select $1, 'default', doc_id, 1, 'api', 'iss', 'sub', 'untrusted', false, false, '{}', 1 from new),
texts as (
  insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body)
  select $1, 'default', doc_id, 1, body from new)
insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, embedding, fingerprint, f_kind, f_rank, f_tags, f_note, f_side)
select $1, 'default', 'shared', chunk_no, doc_id, 0, 1, terms, 0, char_length(body), embedding, fingerprint, kind, rank, array['all', tag], note, side from new`;

export interface LoadedCorpus {
  readonly tenant: string;
  readonly chunks: number;
  readonly vectors: Vectors;
  /** Of the space that the server's model has. */
  readonly identity: string;
  /** Of a chunk's text; none by default. */
  readonly fingerprint?: (text: string) => string | null;
  /** Of a chunk's document. */
  readonly idOf?: (chunk: number) => string;
  /** Whether chunks are found by their words, too. */
  readonly hasPostings?: boolean;
}

/** @param client a superuser's */
export async function loadCorpus(
  client: pg.Client,
  { tenant, chunks, vectors, identity, ...its }: LoadedCorpus,
): Promise<void> {
  const { fingerprint = () => null, idOf = (chunk) => `d${chunk}`, hasPostings = false } = its;
  const oid = await vectorOid(client);
  let length = 0;
  await client.query("insert into pgrcp.tenants (tenant_id) values ($1)", [tenant]);
  for (let first = 0; first < chunks; first += BLOCK_SIZE) {
    const numbers = Array.from({ length: Math.min(BLOCK_SIZE, chunks - first) }, (_, index) => first + index);
    const embedded = numbers.map(vectors.chunk);
    const values = numbers.map((number, index) => valuesOf(number, embedded[index] ?? new Float32Array(), vectors));
    const texts = numbers.map((number) => vectors.text(number));
    const terms = hasPostings ? texts.map((text, index) => termsOf(first + index, text)) : [];
    const lengths = hasPostings ? terms.map((chunk) => chunk.length) : numbers.map(() => LENGTH);
    length += lengths.reduce((sum, one) => sum + one, 0);
    await client.query(INSERT, [
      tenant,
      numbers,
      texts,
      values.map(({ kind }) => kind),
      values.map(({ rank }) => rank),
      values.map(({ tag }) => tag),
      values.map(({ note }) => note),
      values.map(({ side }) => side),
      vectorArray(oid, embedded),
      texts.map(fingerprint),
      numbers.map(idOf),
      lengths,
    ]);
    if (hasPostings) await runBatch(client, [appendPostings(tenant as TenantId, CORPUS, packPostings(terms))]);
  }
  await client.query(
    `insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening, version, next_chunk, live_documents, live_chunks, live_length)
values ($1, $2, $3, $4, $5, 'flag', 1, $6::int, $6::int, $6::int, $7)`,
    [tenant, CORPUS, LANGUAGE, identity, vectors.dimension, chunks, length],
  );
  await client.query(
    `insert into pgrcp.corpus_versions (tenant_id, corpus, version, token, issuer, subject, action, live_documents, live_chunks, live_length, next_chunk)
values ($1, $2, 1, 'v1', 'iss', 'sub', 'add', $3::int, $3::int, $4, $3::int)`,
    [tenant, CORPUS, chunks, length],
  );
}

function termsOf(chunkNo: number, text: string): ChunkTerms {
  const terms = tokenize(text, LANGUAGE);
  return { chunkNo, length: terms.length, counts: countTerms(terms) };
}

export async function vectorOid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ oid: number }>("select 'vector'::regtype::oid::int as oid");
  return rows[0]?.oid ?? 0;
}

/** A `vector[]` as Postgres takes it in binary: as text, a million vectors would be eight gigabytes to parse. */
export function vectorArray(oid: number, vectors: readonly Float32Array[]): Buffer {
  const header = Buffer.alloc(20);
  for (const [at, value] of [1, 0, oid, vectors.length, 1].entries()) header.writeInt32BE(value, at * 4);
  const elements = vectors.flatMap((vector) => {
    const head = Buffer.alloc(8);
    head.writeInt32BE(4 + vector.byteLength, 0);
    head.writeInt16BE(vector.length, 4);
    const numbers = Buffer.from(vector.slice().buffer).swap32();
    return [head, numbers];
  });
  return Buffer.concat([header, ...elements]);
}
