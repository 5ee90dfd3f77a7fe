import { deleteDocuments } from "../indexing/delete-documents.ts";
import { planDelete } from "../plan/plan-delete.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";
import { onceWrite } from "./once-write.ts";

/** RCP §7.11. */
export const indexDelete: Handler = async (params, call, services) => {
  const plan = planDelete(params, services.offer.delete);
  const corpus = await findCorpus(call, services, "deleter");
  const once = onceWrite(plan, "delete", call, services);
  const isNothing = plan.docIds.length === 0 || (corpus === undefined && once === undefined);
  if (isNothing) return { deleted: 0 };
  const key = { tenantId: call.principal.tenantId, corpus: call.corpus };
  const limits = { signal: call.signal, timeoutMs: call.remainingMs() };
  return await deleteDocuments(services.database, key, plan.docIds, call.principal, once, limits);
};
