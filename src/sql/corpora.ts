import {
  type Corpus,
  type CorpusName,
  DEFAULT_CORPUS,
  type ScreeningPolicy,
  type TenantId,
} from "../catalog/corpus.ts";
import { compile, type Sql, type Statement, sql } from "./sql.ts";

type Row = Readonly<Record<string, unknown>>;

const CORPUS_COLUMNS = sql`tenant_id, corpus, language, model_identity, dimension, screening, placement`;

const KEPT_COLUMNS = sql`${CORPUS_COLUMNS}, moving_from, case when graph_chunks is not null then live_chunks end as graph_chunks, version = 0 as unwritten`;

const toCorpus = (row: Row): Corpus => ({
  tenantId: row.tenant_id as TenantId,
  name: row.corpus as CorpusName,
  language: row.language as string,
  space: { identity: row.model_identity as string, dimension: row.dimension as number },
  screening: row.screening as ScreeningPolicy,
  placement: row.placement as string,
  movingFrom: (row.moving_from as string | null | undefined) ?? undefined,
  graphChunks: (row.graph_chunks as number | null | undefined) ?? undefined,
  unwritten: row.unwritten === true ? true : undefined,
});

/** One row, or none when the tenant has no such corpus. */
export function findCorpus(tenantId: TenantId, name: CorpusName): Statement<Corpus> {
  return compile(
    sql`select ${KEPT_COLUMNS} from pgrcp.corpora where tenant_id = ${tenantId} and corpus = ${name}`,
    toCorpus,
  );
}

const among = (tenantId: TenantId, names: readonly CorpusName[] | undefined): Sql =>
  sql`tenant_id = ${tenantId}${names === undefined ? sql`` : sql` and corpus = any(${names}::text[])`}`;

/** What a caller is told of a corpus. */
export type NamedCorpus = Pick<Corpus, "name" | "language">;

/** By name, at most `limit`. @param names undefined = all that there are */
export function listCorpora(
  tenantId: TenantId,
  names: readonly CorpusName[] | undefined,
  limit: number,
): Statement<NamedCorpus> {
  return compile(
    sql`select corpus, language from pgrcp.corpora where ${among(tenantId, names)} order by corpus limit ${limit}::int`,
    (row) => ({ name: row.corpus as CorpusName, language: row.language as string }),
  );
}

/** One row: how many there are besides `default`. @param names undefined = all that there are */
export function countOtherCorpora(tenantId: TenantId, names: readonly CorpusName[] | undefined): Statement<number> {
  return compile(
    sql`select count(*) as corpora from pgrcp.corpora where ${among(tenantId, names)} and corpus <> ${DEFAULT_CORPUS}`,
    (row) => row.corpora as number,
  );
}

/** A row when the corpus is new; none when the tenant has one of that name, or is not there itself. */
export function createCorpus({ tenantId, name, language, space, screening, placement }: Corpus): Statement<Corpus> {
  return compile(
    sql`insert into pgrcp.corpora (${CORPUS_COLUMNS}) select ${tenantId}, ${name}, ${language}, ${space.identity}, ${space.dimension}::int, ${screening}, ${placement} from pgrcp.tenants where tenant_id = ${tenantId} on conflict (tenant_id, corpus) do nothing returning ${CORPUS_COLUMNS}`,
    toCorpus,
  );
}
