import { planRetrieval } from "../plan/plan-retrieval.ts";
import { retrieve as runPlan } from "../retrieval/pipeline.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.7. */
export const retrieve: Handler = async (params, call, services) => {
  const plan = planRetrieval(params, services.offer.retrieval);
  const corpus = await findCorpus(call, services, "reader");
  const { database, embedding } = services;
  return runPlan(plan, corpus, { database, access: call.principal, embedding, limits: call });
};
