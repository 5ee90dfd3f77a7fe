import { randomBytes } from "node:crypto";
import type { TenantId } from "../catalog/corpus.ts";
import { createCursorKey, findCursorKey } from "../sql/ranked-lists.ts";
import type { Access, Database, StatementLimits } from "./database.ts";

const KEY_BYTES = 32;
/** A tenant that was removed and made anew has another key, which is seen after this at the latest. */
const MAX_AGE_MS = 60_000;
/** Tenants kept; the one asked for longest ago makes room. */
const MAX_TENANTS = 10_000;

interface Kept {
  readonly key: Uint8Array;
  readonly until: number;
}

/** The keys that sign tenants' cursors, in `pgrcp_state`, so that every process on one database has the same. */
export class CursorKeys {
  readonly #database: Pick<Database, "read">;
  readonly #now: () => number;
  readonly #tenants = new Map<TenantId, Kept>();

  constructor(database: Pick<Database, "read">, now: () => number = Date.now) {
    this.#database = database;
    this.#now = now;
  }

  /** The tenant's key, made by its first cursor. Whoever makes it at the same moment has the same one. */
  async of(access: Access, limits: StatementLimits): Promise<Uint8Array> {
    const known = await this.find(access, limits);
    if (known !== undefined) return known;
    const { tenantId } = access;
    const statements = [createCursorKey(tenantId, randomBytes(KEY_BYTES)), findCursorKey(tenantId)] as const;
    const [, [key]] = await this.#database.read("state", access, statements, limits);
    if (key === undefined) throw new Error("a tenant's cursor key is there once it was made");
    return this.#keep(tenantId, key);
  }

  /** @returns undefined for a tenant that never had a cursor */
  async find(access: Access, limits: StatementLimits): Promise<Uint8Array | undefined> {
    const { tenantId } = access;
    const kept = this.#tenants.get(tenantId);
    if (kept !== undefined && this.#now() < kept.until) return kept.key;
    const [[key]] = await this.#database.read("state", access, [findCursorKey(tenantId)], limits);
    return key && this.#keep(tenantId, key);
  }

  #keep(tenantId: TenantId, key: Uint8Array): Uint8Array {
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, { key, until: this.#now() + MAX_AGE_MS });
    if (this.#tenants.size > MAX_TENANTS) {
      const [oldest] = this.#tenants.keys();
      if (oldest !== undefined) this.#tenants.delete(oldest);
    }
    return key;
  }
}
