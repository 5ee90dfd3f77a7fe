import { mayReach } from "../auth/principal.ts";
import { type Corpus, DEFAULT_CORPUS } from "../catalog/corpus.ts";
import type { CorpusRole } from "../db/corpus-store.ts";
import { unauthorized } from "../protocol/errors.ts";
import type { Call, Services } from "./handler.ts";

/**
 * The corpus that the path names. Undefined only for a tenant's `default` corpus before its first write, which is an empty
 * corpus like any other.
 *
 * @param role of the method
 * @throws RpcError -32012 for a corpus that the token is not good for, and for any other that is not there: one answer (ruling 2)
 */
export async function findCorpus(call: Call, services: Services, role: CorpusRole): Promise<Corpus | undefined> {
  if (!mayReach(call.principal, call.corpus)) throw unauthorized();
  const limits = { signal: call.signal, timeoutMs: call.remainingMs() };
  const corpus = await services.corpora.find(role, call.principal, call.corpus, limits);
  // From here on predicates take their tenant from the corpus, and policies from the caller.
  if (corpus !== undefined && corpus.tenantId !== call.principal.tenantId)
    throw new Error("the corpus store answered with another tenant's corpus");
  if (corpus === undefined && call.corpus !== DEFAULT_CORPUS) throw unauthorized();
  return corpus;
}
