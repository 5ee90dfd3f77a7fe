import { type Corpus, DEFAULT_CORPUS } from "../catalog/corpus.ts";
import { addDocuments } from "../indexing/add-documents.ts";
import { planAdd } from "../plan/plan-add.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Call, Handler, Services } from "./handler.ts";
import { onceWrite } from "./once-write.ts";

/** RCP §7.10. */
export const indexAdd: Handler = async (params, call, services) => {
  const plan = planAdd(params, services.offer.add);
  const existing = await findCorpus(call, services, "adder");
  const { ids, chunks, indexVersion, notes } = await addDocuments(plan, existing ?? firstCorpus(call, services), {
    database: services.database,
    embedding: services.embedding,
    limits: call,
    by: call.principal,
    fields: services.offer.add.fields,
    ...services.config.indexing,
    classifier: services.classifier,
    observe: services.observe,
    contexts: services.generator && {
      generator: services.generator,
      maxContextualChunks: services.config.limits.maxContextualChunks,
    },
    create: existing !== undefined ? "nothing" : services.config.tenants.autoCreate ? "tenant and corpus" : "corpus",
    quotas: services.config.quotas,
    fetch: services.fetcher && {
      fetcher: services.fetcher,
      tenantId: call.principal.tenantId,
      refused: (stage) => services.observe({ kind: "fetch-refused", tenant: call.principal.tenantId, stage }),
    },
    once: onceWrite(plan, "add", call, services),
  });
  return {
    ids,
    chunks,
    _meta: { ...(indexVersion === undefined ? {} : { indexVersion }), ...(notes.length === 0 ? {} : { notes }) },
  };
};

/** A tenant's `default` corpus, as its first write makes it. */
function firstCorpus({ principal }: Call, { config, embedding }: Services): Corpus {
  return {
    tenantId: principal.tenantId,
    name: DEFAULT_CORPUS,
    language: config.indexing.defaultLanguage,
    space: embedding.space,
    screening: config.indexing.defaultScreening,
    placement: "shared",
  };
}
