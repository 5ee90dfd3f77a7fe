import type { Config } from "../config/config.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { deleteOldRecords, deleteOldVersions } from "../sql/audit.ts";
import { deleteExpiredFeedback } from "../sql/feedback.ts";
import { deleteExpiredKeys } from "../sql/idempotency.ts";
import { deleteExpiredRankedLists } from "../sql/ranked-lists.ts";
import { deleteExpiredSessions } from "../sql/sessions.ts";
import { deleteExpiredTrajectories } from "../sql/trajectories.ts";
import { type Collected, collectVersions } from "./collect-versions.ts";

export type { Collected } from "./collect-versions.ts";

/**
 * Deletes what is past its time: rows of expired state of every tenant, which the server itself removes only of tenants that come
 * back, versions with what only they had, and audit records.
 */
export async function* collect(
  database: OperatorDatabase,
  { versionHours, auditDays }: Config["retention"],
): AsyncIterable<Collected> {
  for (const statement of [
    deleteExpiredSessions(undefined),
    deleteExpiredTrajectories(undefined),
    deleteExpiredRankedLists(undefined),
    deleteExpiredKeys(undefined),
    deleteExpiredFeedback(undefined),
    deleteOldRecords(auditDays),
    deleteOldVersions(auditDays),
  ])
    await database.write((transaction) => transaction.query(statement));
  yield* collectVersions(database, versionHours);
}

const HOUR_MS = 3_600_000;

/**
 * Collects now and every hour.
 *
 * @param failed told of a round that failed; the next one comes all the same
 * @returns ends it, between two corpora
 */
export function keepCollecting(
  database: OperatorDatabase,
  retention: Config["retention"],
  failed: (error: unknown) => void,
): () => Promise<void> {
  const stopped = new AbortController();
  const round = async () => {
    for await (const _ of collect(database, retention)) if (stopped.signal.aborted) return;
  };
  let running = round().catch(failed);
  const timer = setInterval(() => {
    running = running.then(round).catch(failed);
  }, HOUR_MS).unref();
  return async () => {
    clearInterval(timer);
    stopped.abort();
    await running;
  };
}
