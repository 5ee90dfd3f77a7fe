import { deleteDocuments } from "../indexing/delete-documents.ts";
import { planDelete } from "../plan/plan-delete.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.11. */
export const indexDelete: Handler = async (params, call, services) => {
  const docIds = planDelete(params, services.offer.delete);
  const corpus = await findCorpus(call, services, "deleter");
  if (corpus === undefined || docIds.length === 0) return { deleted: 0 };
  const key = { tenantId: corpus.tenantId, corpus: corpus.name };
  const limits = { signal: call.signal, timeoutMs: call.remainingMs() };
  return { deleted: await deleteDocuments(services.database, key, docIds, call.principal, limits) };
};
