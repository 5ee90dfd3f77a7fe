import { planDocument } from "../plan/plan-document.ts";
import { notFound } from "../protocol/errors.ts";
import { readDocument } from "../retrieval/read-document.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";

/** `x-pgrcp/document` (RCP §6.2): the text behind a hit, by the hit's id, as it is now. */
export const document: Handler = async (params, call, services) => {
  const plan = planDocument(params, services.offer.document);
  const corpus = await findCorpus(call, services, "reader");
  const { config, database, corpora } = services;
  const { principal } = call;
  const redactedMeta = principal.seesRedacted === true ? [] : config.redaction.metaFields;
  const found =
    corpus && (await readDocument(plan, corpus, { database, corpora, access: principal, limits: call, redactedMeta }));
  if (found === undefined)
    throw notFound("no document has the id: it must be a passage's or a document's, as it was given");
  return { document: found };
};
