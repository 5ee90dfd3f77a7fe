import type { DensePath } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Usage } from "../protocol/wire.ts";

/** What ran: each stage of the plan by its method (DESIGN section 5). A kept list does not say how it was found. */
export function strategyOf(plan: RetrievalPlan, path: DensePath | undefined): Usage["strategy"] {
  const { recall, unit, rewrite, rerank, recency, mmr } = plan;
  const { mode } = recall;
  return {
    ...(rewrite !== undefined && { rewrite }),
    mode,
    ...(path !== undefined && { dense: path }),
    ...(mode !== "dense" && { sparse: "bm25" }),
    ...(mode === "hybrid" && { fusion: recall.fusion.method }),
    ...(unit === "document" && { unit }),
    ...(rerank !== undefined && { rerank: rerank.topN }),
    ...(recency !== undefined && { recency: recency.halfLifeDays }),
    ...(mmr !== undefined && { mmr: mmr.lambda }),
  };
}

/** What the caller should know of how its params were taken. */
export function notesOf(plan: RetrievalPlan): readonly string[] {
  const wantsTheSame = plan.seed !== undefined || plan.indexVersion !== undefined;
  const asksOthers = plan.rewrite !== undefined || plan.rerank !== undefined;
  return [
    ...plan.notes,
    ...(plan.query.trim() === "" ? ["the query is empty"] : []),
    ...(wantsTheSame && asksOthers
      ? ["rewrite and rerank ask another service, whose answer to the same question may differ"]
      : []),
  ];
}
