import type { Hit, RetrieveResult } from "../../../src/protocol/wire.ts";
import { bm25 } from "./bm25-oracle.ts";
import { reading, unexpectedError } from "./call.ts";
import { checkHits } from "./check-hits.ts";
import { compareTables } from "./compare-tables.ts";
import type { CorpusModel } from "./corpus-model.ts";
import { type Bench, note, performOne } from "./exchange.ts";
import { ALL, askedOf, type MODES, type RetrieveParams, randomRetrieve, resultOf, retrieveCall } from "./retrieves.ts";
import { EVERYWHERE, termsOf, WORDS } from "./sent-documents.ts";
import { othersOf, type Pin, PLACES, type Place, type Tenant } from "./world.ts";

/**
 * Waits until nothing runs and compares every corpus with its model: the same documents, whole, in every mode; BM25 of these chunks
 * alone; versions without gaps. What a lost write did is seen here, and must be all or nothing.
 *
 * @param isOver asked between corpora, to leave the rest
 */
export async function settle(bench: Bench, isOver: () => boolean): Promise<void> {
  await bench.deployment.rest();
  for (const tenant of bench.world.tenants) {
    for (const place of PLACES) {
      if (isOver()) return;
      const whole = await ask(bench, tenant, place, everything("dense"));
      if (whole === undefined) continue;
      resolveStates(bench, tenant.models[place], whole.hits);
      await compareModes(bench, tenant, place, whole);
      await compareScores(bench, tenant, place, whole.hits);
      await compareTables(bench, tenant, place, whole);
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
