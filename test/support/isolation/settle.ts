import type { Hit, RetrieveResult } from "../../../src/protocol/wire.ts";
import { bm25 } from "./bm25-oracle.ts";
import { reading, unexpectedError } from "./call.ts";
import { checkHits } from "./check-hits.ts";
import type { CorpusModel } from "./corpus-model.ts";
import { type Bench, performOne } from "./exchange.ts";
import { ALL, askedOf, type MODES, type RetrieveParams, randomRetrieve, resultOf, retrieveCall } from "./retrieves.ts";
import { EVERYWHERE, termsOf, WORDS } from "./sent-documents.ts";
import type { Subject } from "./subject.ts";
import { othersOf, type Pin, PLACES, type Place, type Tenant } from "./world.ts";

/**
 * Waits until nothing runs and compares every corpus with its model: the same documents, whole, in every mode; BM25 of these chunks
 * alone; versions without gaps. What a lost write did is seen here, and must be all or nothing.
 *
 * @param isOver asked between corpora, to leave the rest
 */
export async function settle(bench: Bench, subject: Subject, isOver: () => boolean): Promise<void> {
  await subject.call("settle");
  for (const tenant of bench.world.tenants) {
    for (const place of PLACES) {
      if (isOver()) return;
      const whole = await ask(bench, tenant, place, everything("dense"));
      if (whole === undefined) continue;
      resolveStates(bench, tenant.models[place], whole.hits);
      await compareModes(bench, tenant, place, whole);
      await compareScores(bench, tenant, place, whole.hits);
      await compareTables(bench, subject, tenant, place, whole);
      tenant.pins[place] = await makePins(bench, tenant, place);
    }
    await useSessions(bench, tenant);
  }
}

const everything = (mode: (typeof MODES)[number]): RetrieveParams => ({
  query: EVERYWHERE,
  mode,
  k: ALL,
  ...(mode === "dense" && { includeVectors: true }),
});

/** @returns undefined when there was no result, which is a problem noted */
async function ask(bench: Bench, tenant: Tenant, place: Place, params: RetrieveParams) {
  let result: RetrieveResult | undefined;
  const model = tenant.models[place];
  await performOne(bench, tenant, place, {
    kind: `(check) ${params.mode}`,
    method: "retrieve",
    credential: "read",
    params: { ...params },
    begin: () =>
      reading((response) => {
        if (response.result === undefined) return unexpectedError(response);
        result = resultOf(response.result);
        return checkHits(result, askedOf(params, model.now()), model);
      }),
  });
  return result;
}

const note = ({ problems }: Bench, problem: string) => void problems.push({ kind: "(check)", problem });

/** Every document is in one of the states that it can be in. From here on it is in that one. */
function resolveStates(bench: Bench, model: CorpusModel, hits: readonly Hit[]): void {
  const found = new Map(hits.map((hit) => [hit.chunk.docId, hit.meta.v]));
  for (const id of model.ids()) {
    const variant = found.get(id);
    const state = typeof variant === "number" ? variant : null;
    const possible = model.possible(id);
    if (!possible.has(state))
      note(bench, `foreign count: ${id} is ${state} where ${[...possible].join(" or ")} is due`);
    model.resolve(id, state);
  }
}

const keysOf = (hits: readonly Hit[]): string =>
  JSON.stringify(hits.map(({ chunk }) => `${chunk.docId}#${chunk.index}`).sort());

/** Every mode finds the same chunks, and a filter by owner this tenant's marked ones and no other's. */
async function compareModes(bench: Bench, tenant: Tenant, place: Place, whole: RetrieveResult): Promise<void> {
  for (const mode of ["sparse", "hybrid"] as const) {
    const other = await ask(bench, tenant, place, everything(mode));
    if (other !== undefined && keysOf(other.hits) !== keysOf(whole.hits))
      note(bench, `foreign count: ${mode} finds other chunks than dense`);
    if (other !== undefined && other.indexVersion !== whole.indexVersion)
      note(bench, "foreign id: another version though nothing was written");
  }
  const owned = (value: string) => ({ ...everything("dense"), filter: { field: "owner", op: "eq", value } });
  const own = await ask(bench, tenant, place, owned(tenant.marker));
  const marked = whole.hits.filter(({ meta }) => meta.owner === tenant.marker);
  if (own !== undefined && keysOf(own.hits) !== keysOf(marked)) note(bench, "foreign count: not the owner's documents");
  for (const { marker } of othersOf(bench.world, tenant)) {
    const foreign = await ask(bench, tenant, place, owned(marker));
    if (foreign !== undefined && foreign.hits.length > 0) note(bench, "foreign row: a document that another owns");
  }
}

/** Scores are BM25 over the chunks that this tenant has, to the ninth digit. */
async function compareScores(bench: Bench, tenant: Tenant, place: Place, hits: readonly Hit[]): Promise<void> {
  const chunks = hits.map(({ chunk, citation, text }) => ({
    key: `${chunk.docId}#${chunk.index}`,
    terms: termsOf(`${citation.title} ${text}`),
  }));
  const queries = [
    [EVERYWHERE],
    [bench.random.pick(WORDS), tenant.marker],
    [...new Set([bench.random.pick(WORDS), bench.random.pick(WORDS)])],
  ];
  for (const words of queries) {
    const expected = bm25(words, chunks);
    const result = await ask(bench, tenant, place, { query: words.join(" "), mode: "sparse", k: ALL });
    if (result === undefined) continue;
    if (result.hits.length !== expected.size) note(bench, "foreign count: BM25 finds other chunks");
    const isOff = ({ chunk, score }: Hit) =>
      !(Math.abs(score - (expected.get(`${chunk.docId}#${chunk.index}`) ?? Number.NaN)) < 1e-9);
    if (result.hits.some(isOff)) note(bench, "foreign count: BM25 of other statistics");
  }
}

/** What the tables say, read by their owner: what only this tenant's writes can have made. */
const TABLES = `select c.version, c.live_documents, c.live_chunks, c.live_length,
  (select count(*) from pgrcp.corpus_versions v where v.tenant_id = c.tenant_id and v.corpus = c.corpus) as versions,
  (select array_agg(v.token order by v.version) from pgrcp.corpus_versions v where v.tenant_id = c.tenant_id and v.corpus = c.corpus) as tokens,
  (select json_build_array(v.version, v.live_documents, v.live_chunks, v.live_length) from pgrcp.corpus_versions v
    where v.tenant_id = c.tenant_id and v.corpus = c.corpus order by v.version desc limit 1) as last,
  (select count(*) from pgrcp.documents d
    where d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.removed_version is null) as documents,
  (select count(*) from pgrcp.chunks k
    where k.tenant_id = c.tenant_id and k.corpus = c.corpus and k.removed_version is null) as chunks
from pgrcp.corpora c where c.tenant_id = $1 and c.corpus = $2`;

async function compareTables(
  bench: Bench,
  subject: Subject,
  tenant: Tenant,
  place: Place,
  { hits, indexVersion }: RetrieveResult,
): Promise<void> {
  const model = tenant.models[place];
  const [row] = await subject.call("query", TABLES, [tenant.name, place === "default" ? "default" : tenant.vault]);
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
  if (version > 0 && differs(row.last, [version, ...live])) note(bench, "foreign count: the version's totals");
  if (differs([row.documents, row.chunks], live.slice(0, 2))) note(bench, "foreign count: rows in the tables");
  if (indexVersion !== tokens.at(-1)) note(bench, "foreign id: not the corpus's newest version");
  if ([...model.versions.keys()].some((token) => !tokens.includes(token)))
    note(bench, "foreign id: a version is not there");
  model.versionsMade = version;
  model.versionsDoubtful = 0;
}

/** Answers that must come again for who pins their version, whatever is written meanwhile. */
async function makePins(bench: Bench, tenant: Tenant, place: Place): Promise<readonly Pin[]> {
  const [other] = othersOf(bench.world, tenant);
  const pins: Pin[] = [];
  for (let n = 0; n < 3; n++) {
    const params = randomRetrieve(bench.random, tenant.marker, other?.marker ?? "");
    const result = await ask(bench, tenant, place, params);
    if (result?.indexVersion !== undefined)
      pins.push({ params: { ...params }, indexVersion: result.indexVersion, hits: result.hits });
  }
  return pins;
}

/** Sessions that others tried to use and to end are still there. */
async function useSessions(bench: Bench, tenant: Tenant): Promise<void> {
  for (const live of [...tenant.live].slice(-5)) {
    const call = retrieveCall(tenant, "default", { query: EVERYWHERE, mode: "sparse", k: 1 });
    await performOne(bench, tenant, "default", { ...call, kind: "(check) own session" }, live);
  }
}
