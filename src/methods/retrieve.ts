import { planRetrieval } from "../plan/plan-retrieval.ts";
import { retrieve as runPlan } from "../retrieval/pipeline.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.7. */
export const retrieve: Handler = async (params, call, services) => {
  const plan = planRetrieval(params, services.offer.retrieval);
  const corpus = await findCorpus(call, services, "reader");
  const { database, embedding, reranker, generator } = services;
  const { principal: access, report } = call;
  return runPlan(plan, corpus, { database, access, embedding, reranker, generator, limits: call, report });
};
