import { randomBytes } from "node:crypto";
import type { TenantId } from "../catalog/corpus.ts";
import {
  createCursorKey,
  deleteExpiredRankedLists,
  dropRankedLists,
  findCursorKey,
  findRankedList,
  insertRankedList,
  type RankedList,
} from "../sql/ranked-lists.ts";
import type { SessionOwner } from "../sql/sessions.ts";
import type { Access, Database, StatementLimits } from "./database.ts";
import { stateOwner } from "./state-owner.ts";

export interface RankedListSettings {
  readonly cursorTtlSeconds: number;
  readonly maxListsPerPrincipal: number;
}

export const LIST_ID_BYTES = 16;
const KEY_BYTES = 32;

export interface KeptList {
  readonly listId: Uint8Array;
  /** Signs this tenant's cursors. */
  readonly key: Uint8Array;
}

export interface FoundList {
  /** Undefined when the tenant never had a cursor. */
  readonly key: Uint8Array | undefined;
  /** Undefined when it has expired, never was, or is somebody else's. */
  readonly list: RankedList | undefined;
}

/** Ranked lists that cursors walk, and the keys that sign cursors, in `pgrcp_state`. */
export class RankedListStore {
  readonly #database: Database;
  readonly #settings: RankedListSettings;

  constructor(database: Database, settings: RankedListSettings) {
    this.#database = database;
    this.#settings = settings;
  }

  async keep(caller: SessionOwner, list: RankedList, access: Access, limits: StatementLimits): Promise<KeptList> {
    const owner = stateOwner(caller);
    const { cursorTtlSeconds, maxListsPerPrincipal } = this.#settings;
    const listId = randomBytes(LIST_ID_BYTES);
    const statements = [
      findCursorKey(owner.tenantId),
      deleteExpiredRankedLists(owner.tenantId),
      // Before the insert: its place in the order of equal moments must not cost a list its life in the transaction that makes it.
      dropRankedLists(owner, maxListsPerPrincipal - 1),
      insertRankedList(owner, listId, list, cursorTtlSeconds),
    ] as const;
    const [[key]] = await this.#database.read("state", access, statements, limits);
    return { listId, key: key ?? (await this.#makeKey(owner.tenantId, access, limits)) };
  }

  /** Once in a tenant's life. Whoever makes the key at the same moment has the same one. */
  async #makeKey(tenantId: TenantId, access: Access, limits: StatementLimits): Promise<Uint8Array> {
    const statements = [createCursorKey(tenantId, randomBytes(KEY_BYTES)), findCursorKey(tenantId)] as const;
    const [, [key]] = await this.#database.read("state", access, statements, limits);
    if (key === undefined) throw new Error("a tenant's cursor key is there once it was made");
    return key;
  }

  async find(caller: SessionOwner, listId: Uint8Array, access: Access, limits: StatementLimits): Promise<FoundList> {
    const owner = stateOwner(caller);
    const statements = [findCursorKey(owner.tenantId), findRankedList(owner, listId)] as const;
    const [[key], [list]] = await this.#database.read("state", access, statements, limits);
    return { key, list };
  }
}
