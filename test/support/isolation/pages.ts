import type { Hit } from "../../../src/protocol/wire.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { type Call, reading, refusing, unexpectedError } from "./call.ts";
import { checkHits } from "./check-hits.ts";
import { ALL, askedOf, type RetrieveParams, resultOf } from "./retrieves.ts";
import { EVERYWHERE } from "./sent-documents.ts";
import type { Place, Tenant } from "./world.ts";

/** Retrieves that leave something behind for the next one: ranked lists and trajectories. */

/** A page that was answered, and the cursor of the next. */
export interface OpenPage {
  readonly place: Place;
  readonly params: RetrieveParams;
  readonly cursor: string;
  /** Chunks of the pages before. */
  readonly shown: ReadonlySet<string>;
}

const MAX_OPEN = 20;
/** Every caller has these trajectories, and uses each once in each corpus. */
const TRAJECTORY = "trajectory-";

const keyOf = ({ chunk }: Hit): string => `${chunk.docId}#${chunk.index}`;

const call = (kind: string, params: object, begin: Call["begin"]): Call => ({
  kind,
  method: "retrieve",
  credential: "read",
  params: { ...params },
  begin,
});

/** The first page of a list, or, with what an earlier one left, a later page. */
export function pageCall(tenant: Tenant, place: Place, params: RetrieveParams, before?: OpenPage): Call {
  const model = tenant.models[place];
  const kind = before === undefined ? "retrieve first page" : "retrieve later page";
  return call(kind, { ...params, ...(before && { cursor: before.cursor }) }, () => {
    const asked = askedOf(params, before === undefined ? model.now() : undefined);
    return reading(async (response) => {
      if (response.error?.code === -32602) return ["foreign access: the caller's own cursor is not taken"];
      if (response.result === undefined) return unexpectedError(response);
      const result = resultOf(response.result);
      // A page is no whole answer, whatever it holds.
      const problems = await checkHits(result, { ...asked, k: Math.min(asked.k, result.hits.length) }, model);
      if (result.hits.some((hit) => before?.shown.has(keyOf(hit))))
        problems.push("foreign row: a hit of an earlier page");
      if (result.nextCursor !== undefined && tenant.openPages.length < MAX_OPEN) {
        const shown = new Set([...(before?.shown ?? []), ...result.hits.map(keyOf)]);
        tenant.openPages.push({ place, params, cursor: result.nextCursor, shown });
      }
      return problems;
    });
  });
}

/** Takes one of the pages that the tenant has open. */
export function takePage(tenant: Tenant, random: SeededRandom): OpenPage | undefined {
  if (tenant.openPages.length === 0) return undefined;
  return tenant.openPages.splice(random.integer(0, tenant.openPages.length - 1), 1)[0];
}

export const stolenCursorCall = ({ params, cursor }: OpenPage): Call =>
  call("retrieve stolen cursor", { ...params, cursor }, () => refusing(-32602));

/**
 * Everything, in a trajectory that is new to the tenant. Others have used its name with the same subject and client, so what is
 * missing was hidden by theirs.
 */
export function trajectoryCall(tenant: Tenant, place: Place): Call {
  const model = tenant.models[place];
  const sessionId = `${TRAJECTORY}${tenant.trajectories[place]++}`;
  const params: RetrieveParams = { query: EVERYWHERE, mode: "dense", k: ALL };
  return call("retrieve in a trajectory", { ...params, sessionId }, () => {
    const asked = askedOf(params, model.now());
    return reading(async (response) => {
      if (response.result === undefined) return unexpectedError(response);
      const problems = await checkHits(resultOf(response.result), asked, model);
      return problems.map((problem) =>
        problem.startsWith("wrong count") ? "foreign row: hidden by another's trajectory" : problem,
      );
    });
  });
}
