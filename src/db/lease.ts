import type pg from "pg";
import type { TenantId } from "../catalog/corpus.ts";
import type { BatchStatement } from "./batch.ts";
import type { Access, DatabaseRole } from "./database.ts";

/** The roles that a connection can speak as. */
export type ConnectionRole = DatabaseRole | "operator" | "migrate";

/** A connection in one caller's hands, until exactly one of the two is called. */
export interface Lease {
  readonly client: pg.ClientBase;
  /** Back to the others: idle and in no transaction. */
  release(): void;
  /**
   * Gives the connection up in an unclear state. Whatever still runs on it is stopped; nobody gets the connection before that.
   *
   * @param running the statements that may still be on their way; absent = none
   */
  abandon(running?: Promise<unknown>): void;
}

/** Where leases come from, and what a transaction there must begin with. */
export interface LeaseSource {
  /** Tenants that wait take turns. @throws RpcError -32010 when none is free in time; the signal's reason when it aborts first */
  acquire(signal: AbortSignal, party: TenantId | undefined): Promise<Lease>;
  /**
   * Sets tenant and credentials (and the role, where the login does not fix it) and the statement timeout, for this transaction
   * only.
   *
   * @param isPlannedOnce whether plans are kept that look at no values, of statements that have a name
   */
  preamble(access: Access | undefined, timeoutMs: number | undefined, isPlannedOnce?: boolean): BatchStatement;
  /** A name under which the server may keep a statement parsed; undefined = do not. */
  nameOf(text: string): string | undefined;
}

/** Credentials as the policies read them: `read,add`. */
export const credentialsOf = (access: Access | undefined): string => [...(access?.credentials ?? [])].join(",");
