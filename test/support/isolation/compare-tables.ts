import type { RetrieveResult } from "../../../src/protocol/wire.ts";
import { type Bench, note } from "./exchange.ts";
import { termsOf } from "./sent-documents.ts";
import type { Place, Tenant } from "./world.ts";

/** What the tables say, read by their owner: what only this tenant's writes can have made. */
const TABLES = `select c.version, c.live_documents, c.live_text_bytes, c.live_chunks, c.live_length,
  (select count(*) from pgrcp.corpus_versions v where v.tenant_id = c.tenant_id and v.corpus = c.corpus) as versions,
  (select array_agg(v.token order by v.version) from pgrcp.corpus_versions v where v.tenant_id = c.tenant_id and v.corpus = c.corpus) as tokens,
  (select json_build_array(v.version, v.live_documents, v.live_chunks, v.live_length) from pgrcp.corpus_versions v
    where v.tenant_id = c.tenant_id and v.corpus = c.corpus order by v.version desc limit 1) as last,
  (select count(*) from pgrcp.documents d
    where d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.removed_version is null) as documents,
  (select coalesce(sum(octet_length(t.body)), 0)::bigint from pgrcp.documents d join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
    where d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.removed_version is null) as text_bytes,
  (select count(*) from pgrcp.chunks k
    where k.tenant_id = c.tenant_id and k.corpus = c.corpus and k.removed_version is null) as chunks
from pgrcp.corpora c where c.tenant_id = $1 and c.corpus = $2`;

/** Compares a corpus's own rows with its model, and with an answer that holds every chunk. */
export async function compareTables(
  bench: Bench,
  tenant: Tenant,
  place: Place,
  { hits, indexVersion }: RetrieveResult,
): Promise<void> {
  const model = tenant.models[place];
  const [row] = await bench.deployment.rows(TABLES, [tenant.name, place === "default" ? "default" : tenant.vault]);
  if (row === undefined) return note(bench, "foreign count: the corpus has no row");
  const { versionsMade, versionsDoubtful } = model;
  const version = Number(row.version);
  const documents = new Set(hits.map(({ chunk }) => chunk.docId)).size;
  const length = hits.reduce((sum, { citation, text }) => sum + termsOf(`${citation.title} ${text}`).length, 0);
  const live = [documents, hits.length, length];
  const tokens = (row.tokens as readonly string[] | null) ?? [];
  const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);

  if (row.versions !== version) note(bench, "foreign count: versions have gaps");
  if (version < versionsMade || version > versionsMade + versionsDoubtful)
    note(
      bench,
      `foreign count: ${version} versions where ${versionsMade} to ${versionsMade + versionsDoubtful} are due`,
    );
  if (differs([row.live_documents, row.live_chunks, row.live_length], live))
    note(bench, "foreign count: the corpus's totals");
  if (row.live_text_bytes !== row.text_bytes) note(bench, "foreign count: the corpus's bytes of text");
  if (version > 0 && differs(row.last, [version, ...live])) note(bench, "foreign count: the version's totals");
  if (differs([row.documents, row.chunks], live.slice(0, 2))) note(bench, "foreign count: rows in the tables");
  if (indexVersion !== tokens.at(-1)) note(bench, "foreign id: not the corpus's newest version");
  if ([...model.versions.keys()].some((token) => !tokens.includes(token)))
    note(bench, "foreign id: a version is not there");
  model.versionsMade = version;
  model.versionsDoubtful = 0;
}
