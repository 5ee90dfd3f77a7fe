import { isDeepStrictEqual } from "node:util";
import type { Response } from "../rcp-server.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { type Call, reading, unexpectedError } from "./call.ts";
import type { Tenant } from "./world.ts";

/** Calls that stand on a model alone: what comes back is of the texts that were sent, and of no others. */

const never = new AbortController().signal;
const CAPABILITY_MISSING = -32003;

const textOf = (tenant: Tenant, random: SeededRandom): string => `${tenant.marker} ${random.integer(0, 1e9)}`;

const modelCall = (
  method: string,
  params: Call["params"],
  isOwn: (result: NonNullable<Response["result"]>) => boolean | Promise<boolean>,
): Call => ({
  kind: method,
  method,
  credential: "read",
  params,
  begin: () =>
    reading(async (response) => {
      if (response.result === undefined) return unexpectedError(response);
      return (await isOwn(response.result)) ? [] : [`foreign ${method}: of other texts`];
    }),
});

function embedCall(tenant: Tenant, random: SeededRandom): Call {
  const inputs = [textOf(tenant, random), textOf(tenant, random)];
  return modelCall("embed", { inputs }, async ({ vectors }) => {
    const expected = await tenant.models.default.embedding.embed(inputs, "document", never);
    const given: readonly (readonly number[])[] = Array.isArray(vectors) ? vectors : [];
    return expected.every((vector, index) =>
      vector.every((value, at) => Math.abs(value - (given[index]?.[at] ?? 2)) < 1e-4),
    );
  });
}

/** A deployment without the model answers that it has none. */
const ifThere = (call: Call): Call => ({
  ...call,
  begin() {
    const pending = call.begin();
    return {
      ...pending,
      answered: (response) => (response.error?.code === CAPABILITY_MISSING ? [] : pending.answered(response)),
    };
  },
});

/** One passage holds the query, so it is the best. */
function rerankCall(tenant: Tenant, random: SeededRandom): Call {
  const query = textOf(tenant, random);
  const best = random.integer(0, 2);
  const passages = [0, 1, 2].map((index) => (index === best ? query : `passage ${index}`));
  return ifThere(modelCall("rerank", { query, passages, topN: 1 }, ({ order }) => isDeepStrictEqual(order, [best])));
}

/** The generator repeats what it is asked. */
function transformCall(tenant: Tenant, random: SeededRandom): Call {
  const query = textOf(tenant, random);
  const params = { query, method: "rewrite" };
  return ifThere(modelCall("query/transform", params, ({ queries }) => isDeepStrictEqual(queries, [query])));
}

export const randomModelCall = (tenant: Tenant, random: SeededRandom): Call =>
  random.pick([embedCall, rerankCall, transformCall])(tenant, random);
