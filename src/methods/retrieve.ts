import { RankedListStore } from "../db/ranked-list-store.ts";
import { TrajectoryStore } from "../db/trajectory-store.ts";
import { planRetrieval } from "../plan/plan-retrieval.ts";
import { retrieve as runPlan } from "../retrieval/pipeline.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.7. */
export const retrieve: Handler = async (params, call, services) => {
  const plan = planRetrieval(params, services.offer.retrieval);
  const corpus = await findCorpus(call, services, "reader");
  const { config, database, corpora, embedding, cursorKeys, reranker, generator } = services;
  const { principal, report } = call;
  return runPlan(plan, corpus, {
    database,
    corpora,
    access: principal,
    owner: principal,
    trajectories: new TrajectoryStore(database, config.retrieval.trajectories),
    rankedLists: new RankedListStore(database, config.retrieval),
    cursors: config.capabilities.pagination
      ? { keys: cursorKeys, ttlSeconds: config.retrieval.cursorTtlSeconds }
      : undefined,
    embedding,
    reranker,
    generator,
    paths: config.retrieval,
    redactedMeta: principal.seesRedacted === true ? [] : config.redaction.metaFields,
    limits: call,
    report,
  });
};
