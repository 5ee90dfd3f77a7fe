import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { TransformMethod } from "../protocol/wire.ts";
import type { RetrievalContext } from "./context.ts";
import type { Question } from "./recall.ts";
import { transformQuery } from "./transform-query.ts";

/** Queries that multi-query and decompose may add to the one that was sent: each costs a recall. */
const MAX_ADDED = 3;

export interface Questions {
  /** What recall looks for, one ranked list each; never empty. */
  readonly questions: readonly Question[];
  /** What the generator made of the query, for the caller to see. */
  readonly rewrittenQuery: string | undefined;
}

/**
 * What to look for: the query as it was sent, or what the generator makes of it. Queries in other words and parts of a query stand
 * beside the query itself, so that a poor one adds noise and takes nothing away; a query written anew stands in its place.
 *
 * @throws RpcError -32010 when the generator fails; the signal's reason when it aborts
 * @see Gao et al., Precise Zero-Shot Dense Retrieval without Relevance Labels, ACL 2023 (hyde)
 */
export async function questionsOf(plan: RetrievalPlan, context: RetrievalContext): Promise<Questions> {
  const { query, rewrite: method } = plan;
  if (method === undefined || query.trim() === "") return { questions: [{ query }], rewrittenQuery: undefined };
  const { generator, limits, access } = context;
  if (generator === undefined) throw new Error("a rewrite was planned without a text generator");
  const request = { query, method, n: MAX_ADDED };
  const { queries, hypothetical } = await transformQuery(generator, request, limits.signal, access.tenantId);
  if (hypothetical !== undefined)
    return { questions: [{ query, passage: hypothetical }], rewrittenQuery: hypothetical };
  const all = isBesideTheQuery(method) ? [query, ...queries.filter((one) => one !== query)] : queries;
  return { questions: all.map((one) => ({ query: one })), rewrittenQuery: queries.join("\n") };
}

const isBesideTheQuery = (method: TransformMethod): boolean =>
  method === "multi-query" || method === "decompose" || method === "step-back";
