import { planTransform } from "../plan/plan-transform.ts";
import { capabilityMissing } from "../protocol/errors.ts";
import { transformQuery } from "../retrieval/transform-query.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.8. */
export const queryTransform: Handler = async (params, call, { generator, offer }) => {
  if (generator === undefined) throw capabilityMissing("query/transform");
  const plan = planTransform(params, offer.transform);
  call.report?.({ progress: 0, stage: "transform", message: plan.method });
  return transformQuery(generator, plan, call.signal, call.principal.tenantId);
};
