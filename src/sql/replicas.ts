import type { Corpus } from "../catalog/corpus.ts";
import { isSamePlaceAs } from "./place.ts";
import { compile, plannedOnce, type Statement, sql } from "./sql.ts";

/** What tells how far a replica is, and whether it is one. */

/** A place in the primary's log of changes, and the database that the log is of. */
export interface LogPosition {
  readonly position: string;
  readonly database: string;
}

const OWN_DATABASE = sql`(select system_identifier from pg_control_system()) || '/' || (select oid from pg_database where datname = current_database())`;

/**
 * How far the primary has come: whoever has replayed this has every commit that was acknowledged before. Only what is flushed is
 * sent to replicas; the place where the next change will be written may lie beyond for as long as nobody commits.
 */
export const flushedPosition: Statement<LogPosition> = compile(
  sql`select pg_current_wal_flush_lsn()::text as position, ${OWN_DATABASE} as database`,
  (row) => row as unknown as LogPosition,
);

export interface StandbyFacts {
  readonly isStandby: boolean;
  readonly database: string;
  readonly hasReplayed: boolean;
}

/** @param position of the primary's log */
export const standbyFacts = (position: string): Statement<StandbyFacts> =>
  compile(
    sql`select pg_is_in_recovery() as standby, ${OWN_DATABASE} as database, coalesce(pg_last_wal_replay_lsn() >= ${position}::pg_lsn, false) as replayed`,
    (row) => ({
      isStandby: row.standby as boolean,
      database: row.database as string,
      hasReplayed: row.replayed as boolean,
    }),
  );

/** The state of a corpus that a read must find. */
export interface WantedState {
  /** As it was looked up: elsewhere there are none of its chunks. */
  readonly corpus: Corpus;
  readonly version: number;
  /** A version's token, which must be there. */
  readonly pin: string | undefined;
}

/** Ends the transaction where this is no standby, or has not replayed the position. */
export const REFUSED_AS_LATE = "PR001";
/** Ends it where the corpus is not as wanted yet. */
export const REFUSED_AS_BEHIND = "PR002";

/**
 * The newest version of the corpus in this snapshot, or the end of the transaction: on a standby, before what reads it. The position may be
 * replayed right after the snapshot was taken, so it bounds the age alone; the version is the snapshot's own.
 */
export function versionOnStandby({ corpus, version, pin }: WantedState, position: string): Statement<number> {
  const { tenantId, name } = corpus;
  const pinned =
    pin === undefined
      ? sql``
      : sql` and exists (select from pgrcp.corpus_versions v where v.tenant_id = ${tenantId} and v.corpus = ${name} and v.token = ${pin})`;
  return plannedOnce(
    compile(
      sql`select case when not pg_is_in_recovery() or (pg_last_wal_replay_lsn() >= ${position}::pg_lsn) is not true then pgrcp.refuse_read(${REFUSED_AS_LATE}) else coalesce((select c.version from pgrcp.corpora c where c.tenant_id = ${tenantId} and c.corpus = ${name} and c.version >= ${version}::bigint and ${isSamePlaceAs(corpus)}${pinned}), pgrcp.refuse_read(${REFUSED_AS_BEHIND})) end as version`,
      (row) => row.version as number,
    ),
  );
}

/** The newest version of a corpus; no row where there is none. */
export const newestVersion = ({ tenantId, name }: Corpus): Statement<number> =>
  plannedOnce(
    compile(
      sql`select c.version from pgrcp.corpora c where c.tenant_id = ${tenantId} and c.corpus = ${name}`,
      (row) => row.version as number,
    ),
  );
