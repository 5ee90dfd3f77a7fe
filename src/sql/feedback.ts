import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { FeedbackSignal } from "../plan/plan-feedback.ts";
import { deleteExpired } from "./expired.ts";
import { compile, noRows, type Statement, sql } from "./sql.ts";

/** Whose feedback it is, and on what. */
export interface FeedbackCall {
  readonly tenantId: TenantId;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string;
  readonly corpus: CorpusName;
  /** A UUID that no other call has. */
  readonly callId: string;
  /** sha256 of the corpus and the caller's sessionId; null without one. */
  readonly sessionHash: Uint8Array | null;
  /** Null when it is not to be kept. */
  readonly query: string | null;
}

export interface FeedbackRoom {
  readonly retentionDays: number;
  readonly maxSignalsPerTenant: number;
  readonly maxSignalsPerPrincipal: number;
}

/** Puts a tenant's feedback one behind the other until the transaction ends, so that what is kept is counted with all of it. */
export function lockFeedback(tenantId: TenantId): Statement {
  const key = JSON.stringify(["feedback", tenantId]);
  return compile(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`, noRows);
}

/** A row for each signal that was kept: the first ones, as far as the tenant and the caller have room. */
export function insertFeedback(
  call: FeedbackCall,
  signals: readonly FeedbackSignal[],
  { retentionDays, maxSignalsPerTenant, maxSignalsPerPrincipal }: FeedbackRoom,
): Statement<true> {
  const flag = (name: "used" | "cited" | "helpful" | "poisonSuspected" | "injectionSuspected") =>
    signals.map((signal) => text(signal[name]));
  return compile(
    sql`insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, session_hash, query, hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected, expires_at)
select ${call.tenantId}, ${call.callId}::uuid, s.place, ${call.corpus}, ${call.issuer}, ${call.subject}, ${call.client}, ${call.sessionHash}::bytea, case when s.place = 1 then ${call.query} end, s.hit_id, s.used, s.cited, s.helpful, s.reward, s.poison_suspected, s.injection_suspected, now() + make_interval(days => ${retentionDays}::int)
from unnest(${signals.map(({ hitId }) => hitId)}::text[], ${flag("used")}::boolean[], ${flag("cited")}::boolean[], ${flag("helpful")}::boolean[], ${signals.map(({ reward }) => text(reward))}::float8[], ${flag("poisonSuspected")}::boolean[], ${flag("injectionSuspected")}::boolean[])
with ordinality as s(hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected, place)
order by s.place limit (select greatest(0, least(${maxSignalsPerTenant}::bigint - count(*), ${maxSignalsPerPrincipal}::bigint - count(*) filter (where issuer = ${call.issuer} and subject = ${call.subject}))) from pgrcp_state.feedback where tenant_id = ${call.tenantId})
returning true as kept`,
    () => true,
  );
}

const text = (value: boolean | number | undefined): string | null => (value === undefined ? null : String(value));

export const deleteExpiredFeedback = (tenantId: TenantId | undefined): Statement =>
  deleteExpired(sql`pgrcp_state.feedback`, tenantId);
