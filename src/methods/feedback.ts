import { randomUUID } from "node:crypto";
import { hashOf } from "../db/state-owner.ts";
import { planFeedback } from "../plan/plan-feedback.ts";
import { deleteExpiredFeedback, insertFeedback, lockFeedback } from "../sql/feedback.ts";
import { findCorpus } from "./find-corpus.ts";
import type { Handler } from "./handler.ts";

/**
 * RCP §7.16. Signals are kept for whoever runs the server, up to a number and for a time, and read by no method. The query is kept
 * only where `feedback.storeQueries` says so: by default neither it nor a digest of it, since a digest tells whoever guesses.
 */
export const feedback: Handler = async (params, call, services) => {
  const { sessionId, query, signals } = planFeedback(params, services.offer.feedback);
  await findCorpus(call, services, "reader");
  if (signals.length === 0) return { accepted: 0 };
  const { tenantId, issuer, subject, client } = call.principal;
  const { corpus } = call;
  const settings = services.config.feedback;
  const record = {
    ...{ tenantId, issuer, subject, client, corpus },
    callId: randomUUID(),
    sessionHash: sessionId === undefined ? null : hashOf(corpus, sessionId),
    query: settings.storeQueries ? (query ?? null) : null,
  };
  const [, , kept] = await services.database.read(
    "state",
    call.principal,
    [lockFeedback(tenantId), deleteExpiredFeedback(tenantId), insertFeedback(record, signals, settings)],
    { signal: call.signal, timeoutMs: call.remainingMs() },
  );
  if (kept.length === signals.length) return { accepted: kept.length };
  const note = "no room for more feedback (feedback.maxSignalsPerPrincipal, feedback.maxSignalsPerTenant)";
  return { accepted: kept.length, _meta: { notes: [note] } };
};
