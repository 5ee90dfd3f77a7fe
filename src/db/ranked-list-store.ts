import { randomBytes } from "node:crypto";
import {
  deleteExpiredRankedLists,
  dropRankedLists,
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

/** Ranked lists that cursors walk where they could not be found anew, in `pgrcp_state`. */
export class RankedListStore {
  readonly #database: Database;
  readonly #settings: RankedListSettings;

  constructor(database: Database, settings: RankedListSettings) {
    this.#database = database;
    this.#settings = settings;
  }

  /** @returns the list's id */
  async keep(caller: SessionOwner, list: RankedList, access: Access, limits: StatementLimits): Promise<Uint8Array> {
    const owner = stateOwner(caller);
    const { cursorTtlSeconds, maxListsPerPrincipal } = this.#settings;
    const listId = randomBytes(LIST_ID_BYTES);
    const statements = [
      deleteExpiredRankedLists(owner.tenantId),
      // Before the insert: its place in the order of equal moments must not cost a list its life in the transaction that makes it.
      dropRankedLists(owner, maxListsPerPrincipal - 1),
      insertRankedList(owner, listId, list, cursorTtlSeconds),
    ] as const;
    await this.#database.read("state", access, statements, limits);
    return listId;
  }

  /** @returns undefined when it has expired, never was, or is somebody else's */
  async find(
    caller: SessionOwner,
    listId: Uint8Array,
    access: Access,
    limits: StatementLimits,
  ): Promise<RankedList | undefined> {
    const [[list]] = await this.#database.read("state", access, [findRankedList(stateOwner(caller), listId)], limits);
    return list;
  }
}
