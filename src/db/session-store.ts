import {
  deleteExpiredSessions,
  deleteSession,
  insertSession,
  lockOwner,
  nextExpiry,
  type SessionOwner,
  type StoredSession,
  touchSession,
} from "../sql/sessions.ts";
import type { Access, Database, StatementLimits } from "./database.ts";

export interface SessionSettings {
  readonly idleTtlSeconds: number;
  readonly maxPerPrincipal: number;
}

export type CreatedSession = { readonly kind: "created" } | { readonly kind: "full"; readonly retryAfterMs: number };

/** A session needs no credential, so none is in its transactions. */
const accessOf = ({ tenantId }: SessionOwner): Access => ({ tenantId, credentials: new Set() });

/** Sessions in `pgrcp_state`, as the role that has no right on any corpus. */
export class DatabaseSessionStore {
  readonly #database: Database;
  readonly #settings: SessionSettings;

  constructor(database: Database, settings: SessionSettings) {
    this.#database = database;
    this.#settings = settings;
  }

  /** @returns `full` with the wait until the owner's next session expires, when the owner has as many as allowed */
  async create(
    owner: SessionOwner,
    hash: Uint8Array,
    agreed: StoredSession,
    limits: StatementLimits,
  ): Promise<CreatedSession> {
    const { idleTtlSeconds, maxPerPrincipal } = this.#settings;
    const [, , created, waits] = await this.#database.read(
      "state",
      accessOf(owner),
      [
        lockOwner(owner),
        deleteExpiredSessions(owner.tenantId),
        insertSession({ owner, hash, ...agreed, idleTtlSeconds }, maxPerPrincipal),
        nextExpiry(owner),
      ],
      limits,
    );
    return created.length > 0 ? { kind: "created" } : { kind: "full", retryAfterMs: waits[0] ?? 0 };
  }

  /** Starts the idle time anew. @returns what was stored at `create`, or undefined when no live session is found */
  async touch(owner: SessionOwner, hash: Uint8Array, limits: StatementLimits): Promise<StoredSession | undefined> {
    const statement = touchSession(owner, hash, this.#settings.idleTtlSeconds);
    const [found] = await this.#database.read("state", accessOf(owner), [statement], limits);
    return found[0];
  }

  /** Nothing happens when no such session is found. */
  async end(owner: SessionOwner, hash: Uint8Array, limits: StatementLimits): Promise<void> {
    await this.#database.read("state", accessOf(owner), [deleteSession(owner, hash)], limits);
  }
}
