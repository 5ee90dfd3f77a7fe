import { filterFields } from "../../../src/plan/filter-fields.ts";
import { FILTER_OPERATORS, resolveFilter } from "../../../src/plan/resolve-filter.ts";
import type { RetrieveMode, RetrieveResult } from "../../../src/protocol/wire.ts";
import { FILTER_LIMITS } from "../every-field.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { type Call, reading, refusing, unexpectedError } from "./call.ts";
import { type Asked, checkHits } from "./check-hits.ts";
import { EVERYWHERE, FIELDS, VARIANTS, WORDS } from "./sent-documents.ts";
import type { Pin, Place, Tenant } from "./world.ts";

const FIELD_MAP = filterFields(FIELDS);
const OPERATORS: ReadonlySet<string> = new Set(FILTER_OPERATORS);
export const MODES = ["dense", "sparse", "hybrid"] as const satisfies readonly RetrieveMode[];

/** More than a corpus of these tests has chunks. */
export const ALL = 500;

export interface RetrieveParams {
  readonly query: string;
  readonly mode: RetrieveMode;
  readonly k: number;
  readonly filter?: unknown;
  readonly fusion?: { readonly method: string };
  readonly includeText?: boolean;
  readonly includeVectors?: boolean;
  readonly minScore?: number;
  readonly unit?: "chunk" | "document";
  readonly mmr?: { readonly lambda: number };
  readonly tokenBudget?: number;
}

/** @param stolen a word of another tenant, to ask and filter for */
export function randomRetrieve(random: SeededRandom, own: string, stolen: string): RetrieveParams {
  const chance = (share: number) => random.fraction() < share;
  const words = new Set(Array.from({ length: random.integer(1, 3) }, () => random.pick(WORDS)));
  if (chance(0.3)) words.add(EVERYWHERE);
  if (chance(0.15)) words.add(own);
  if (chance(0.15)) words.add(stolen);
  const mode = random.pick(MODES);
  return {
    query: [...words].join(" "),
    mode,
    k: random.pick([1, 5, 20, ALL]),
    ...(chance(0.4) && { filter: randomFilter(random, own, stolen) }),
    ...(mode === "hybrid" && chance(0.7) && { fusion: { method: random.pick(["rrf", "weighted", "convex"]) } }),
    ...(chance(0.1) && { includeText: false }),
    ...(chance(0.15) && { includeVectors: true }),
    ...(chance(0.1) && { minScore: random.fraction() }),
    ...(chance(0.1) && { unit: "document" as const }),
    ...(chance(0.1) && { mmr: { lambda: random.fraction() } }),
    ...(chance(0.1) && { tokenBudget: random.integer(1, 300) }),
  };
}

function randomFilter(random: SeededRandom, own: string, stolen: string): unknown {
  const leaves = [
    () => ({ field: "owner", op: random.pick(["eq", "ne"]), value: random.pick([own, stolen, stolen]) }),
    () => ({ field: "owner", op: random.pick(["in", "nin"]), value: [own, stolen] }),
    () => ({ field: "owner", op: "exists", value: random.pick([true, false]) }),
    () => ({ field: "year", op: random.pick(["gt", "gte", "lt", "lte"]), value: 2000 + random.integer(0, 9) }),
    () => ({ field: "tags", op: "contains", value: random.pick(["red", "green", "even"]) }),
    () => ({ field: "v", op: "eq", value: random.integer(0, VARIANTS - 1) }),
  ];
  const leaf = () => random.pick(leaves)();
  switch (random.pick(["leaf", "leaf", "and", "or", "not"] as const)) {
    case "leaf":
      return leaf();
    case "and":
      return { and: [leaf(), leaf()] };
    case "or":
      return { or: [leaf(), leaf()] };
    case "not":
      return { not: leaf() };
  }
}

export const askedOf = (params: RetrieveParams, since: number | undefined): Asked => ({
  ...params,
  filter: resolveFilter(params.filter, FIELD_MAP, OPERATORS, FILTER_LIMITS),
  minScore: params.minScore,
  includeText: params.includeText ?? true,
  includeVectors: params.includeVectors ?? false,
  unit: params.unit ?? "chunk",
  isDiverse: params.mmr !== undefined,
  isBudgeted: params.tokenBudget !== undefined,
  since,
});

const call = (kind: string, params: object, begin: Call["begin"]): Call => ({
  kind,
  method: "retrieve",
  credential: "read",
  params: { ...params },
  begin,
});

/** A retrieve of the newest version. */
export function retrieveCall(tenant: Tenant, place: Place, params: RetrieveParams): Call {
  const model = tenant.models[place];
  return call(`retrieve ${params.mode}`, params, () => {
    const asked = askedOf(params, model.now());
    return reading((response) =>
      response.result === undefined ? unexpectedError(response) : checkHits(resultOf(response.result), asked, model),
    );
  });
}

/** A retrieve of a version that one of this tenant's own writes was told: what it wrote is there as it wrote it. */
export function ownVersionCall(tenant: Tenant, place: Place, indexVersion: string, params: RetrieveParams): Call {
  const model = tenant.models[place];
  return call("retrieve own version", { ...params, indexVersion }, () =>
    reading(async (response) => {
      if (response.result === undefined) return unexpectedError(response);
      const result = resultOf(response.result);
      const problems = await checkHits(result, askedOf(params, undefined), model);
      if (result.indexVersion !== indexVersion) problems.push("foreign id: another version than was asked for");
      const written = model.versions.get(indexVersion);
      const isOther = ({ chunk, meta }: RetrieveResult["hits"][number]) =>
        written?.has(chunk.docId) === true && written.get(chunk.docId) !== meta.v;
      if (result.hits.some(isOther)) problems.push("foreign row: not what that version wrote");
      return problems;
    }),
  );
}

/** A retrieve that was answered before, when nothing else ran. */
export const pinCall = ({ params, indexVersion, hits }: Pin): Call =>
  call("retrieve pinned", { ...params, indexVersion }, () =>
    reading((response) => {
      if (response.result === undefined) return unexpectedError(response);
      return JSON.stringify(response.result.hits) === JSON.stringify(hits)
        ? []
        : ["foreign row: a version's answer has changed"];
    }),
  );

export const stolenVersionCall = (
  indexVersion: string,
  params: RetrieveParams,
  likeUnknown: string | undefined,
): Call => call("retrieve stolen version", { ...params, indexVersion }, () => refusing(-32010, likeUnknown));

export const resultOf = (result: object): RetrieveResult => result as RetrieveResult;
