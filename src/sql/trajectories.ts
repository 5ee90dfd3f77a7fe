import type { TenantId } from "../catalog/corpus.ts";
import { deleteExpired } from "./expired.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/** Whose state a row is. */
export interface StateOwner {
  readonly tenantId: TenantId;
  /** sha256 of issuer, subject and client. */
  readonly ownerHash: Uint8Array;
}

export interface TrajectoryKey extends StateOwner {
  /** sha256 of the corpus and the caller's sessionId. */
  readonly sessionHash: Uint8Array;
}

/** What a trajectory was shown: chunk numbers, and whole documents by the number of their first chunk. */
export interface Shown {
  readonly chunkNos: readonly number[];
  readonly documentNos: readonly number[];
}

/** Numbers kept of each kind; of a longer trajectory the last ones. */
const MAX_SHOWN = 10_000;

const ofOwner = ({ tenantId, ownerHash }: StateOwner): Sql =>
  sql`tenant_id = ${tenantId} and owner_hash = ${ownerHash}::bytea`;

/** A row for a live trajectory, none for one that is unknown, expired or somebody else's. */
export function findTrajectory(key: TrajectoryKey): Statement<Shown> {
  return compile(
    sql`select chunk_nos, document_nos from pgrcp_state.trajectories where ${ofOwner(key)} and session_hash = ${key.sessionHash}::bytea and expires_at > now()`,
    (row) => ({ chunkNos: row.chunk_nos as number[], documentNos: row.document_nos as number[] }),
  );
}

/** Adds what was shown and starts the idle time anew. Expired trajectories must be gone, or one would live again. */
export function extendTrajectory(key: TrajectoryKey, shown: Shown, idleTtlSeconds: number): Statement {
  const { tenantId, ownerHash, sessionHash } = key;
  return compile(
    sql`insert into pgrcp_state.trajectories as kept (tenant_id, owner_hash, session_hash, chunk_nos, document_nos, expires_at)
values (${tenantId}, ${ownerHash}::bytea, ${sessionHash}::bytea, ${shown.chunkNos}::int[], ${shown.documentNos}::int[], now() + make_interval(secs => ${idleTtlSeconds}::float8))
on conflict (tenant_id, owner_hash, session_hash) do update set
  chunk_nos = (kept.chunk_nos || excluded.chunk_nos)[greatest(1, cardinality(kept.chunk_nos) + cardinality(excluded.chunk_nos) - ${MAX_SHOWN - 1}::int):],
  document_nos = (kept.document_nos || excluded.document_nos)[greatest(1, cardinality(kept.document_nos) + cardinality(excluded.document_nos) - ${MAX_SHOWN - 1}::int):],
  expires_at = excluded.expires_at
where kept.tenant_id = ${tenantId}`,
    noRows,
  );
}

/** Forgets an owner's trajectories beyond `most`, those first that were unused for longest. */
export function forgetTrajectories(owner: StateOwner, most: number): Statement {
  return compile(
    sql`delete from pgrcp_state.trajectories where ${ofOwner(owner)} and session_hash in (select session_hash from pgrcp_state.trajectories where ${ofOwner(owner)} order by expires_at desc, session_hash offset ${most}::int)`,
    noRows,
  );
}

export const deleteExpiredTrajectories = (tenantId: TenantId | undefined): Statement =>
  deleteExpired(sql`pgrcp_state.trajectories`, tenantId);
