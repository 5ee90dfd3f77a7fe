import type { TenantId } from "../catalog/corpus.ts";
import { deleteExpired } from "./expired.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/** Whose a session is (DESIGN ruling 3). */
export interface SessionOwner {
  readonly tenantId: TenantId;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string;
}

const of = ({ tenantId, issuer, subject, client }: SessionOwner): Sql =>
  sql`tenant_id = ${tenantId} and issuer = ${issuer} and subject = ${subject} and client = ${client}`;

const seconds = (count: number): Sql => sql`make_interval(secs => ${count}::float8)`;

/** Puts an owner's `initialize` calls one behind the other until the transaction ends, so that the cap counts all of them. */
export function lockOwner(owner: SessionOwner): Statement {
  const key = JSON.stringify([owner.tenantId, owner.issuer, owner.subject, owner.client]);
  return compile(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`, noRows);
}

export interface NewSession {
  readonly owner: SessionOwner;
  /** sha256 of the secret that the client holds. */
  readonly hash: Uint8Array;
  readonly capabilities: string;
  readonly logLevel: string | undefined;
  readonly idleTtlSeconds: number;
}

/** A row when the session was made, none when its owner has `maxPerPrincipal` live ones. */
export function insertSession(session: NewSession, maxPerPrincipal: number): Statement<true> {
  const { owner, hash, capabilities, logLevel, idleTtlSeconds } = session;
  return compile(
    sql`insert into pgrcp_state.sessions (tenant_id, session_hash, issuer, subject, client, capabilities, log_level, expires_at)
select ${owner.tenantId}, ${hash}::bytea, ${owner.issuer}, ${owner.subject}, ${owner.client}, ${capabilities}, ${logLevel ?? null}, now() + ${seconds(idleTtlSeconds)}
where (select count(*) from pgrcp_state.sessions where ${of(owner)} and expires_at > now()) < ${maxPerPrincipal}::int
returning true as created`,
    () => true,
  );
}

/** One row: milliseconds until the owner's next session expires; 0 when it has none. */
export function nextExpiry(owner: SessionOwner): Statement<number> {
  return compile(
    sql`select coalesce(ceil(extract(epoch from min(expires_at) - now()) * 1000), 0)::bigint as wait_ms from pgrcp_state.sessions where ${of(owner)} and expires_at > now()`,
    (row) => row.wait_ms as number,
  );
}

/** What `initialize` agreed on. */
export interface StoredSession {
  readonly capabilities: string;
  readonly logLevel: string | undefined;
}

/**
 * A live session, whose idle time starts anew; no row for one that is unknown, expired or somebody else's.
 *
 * The row is written only when a tenth of the idle time (at most a minute) has passed since it last was.
 */
export function touchSession(owner: SessionOwner, hash: Uint8Array, idleTtlSeconds: number): Statement<StoredSession> {
  const slackSeconds = Math.min(60, idleTtlSeconds / 10);
  return compile(
    sql`with found as (
  select session_hash, capabilities, log_level, expires_at from pgrcp_state.sessions where ${of(owner)} and session_hash = ${hash}::bytea and expires_at > now()
), touched as (
  update pgrcp_state.sessions s set expires_at = now() + ${seconds(idleTtlSeconds)} from found f
  where s.tenant_id = ${owner.tenantId} and s.session_hash = f.session_hash and f.expires_at < now() + ${seconds(idleTtlSeconds - slackSeconds)}
)
select capabilities, log_level from found`,
    (row) => ({ capabilities: row.capabilities as string, logLevel: (row.log_level as string | null) ?? undefined }),
  );
}

/** A row when the owner had that session. */
export function deleteSession(owner: SessionOwner, hash: Uint8Array): Statement<true> {
  return compile(
    sql`delete from pgrcp_state.sessions where ${of(owner)} and session_hash = ${hash}::bytea returning true as ended`,
    () => true,
  );
}

export const deleteExpiredSessions = (tenantId: TenantId | undefined): Statement =>
  deleteExpired(sql`pgrcp_state.sessions`, tenantId);
