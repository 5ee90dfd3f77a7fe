import type { TenantId } from "../catalog/corpus.ts";
import type { BatchStatement } from "./batch.ts";
import type { Access } from "./database.ts";
import type { EmbeddedEngine } from "./embedded-engine.ts";
import { type ConnectionRole, credentialsOf, type Lease, type LeaseSource } from "./lease.ts";

/**
 * The embedded database has one login, so the role is part of each transaction. Settings that `alter role` gives a login are set
 * beside it.
 */
const SET_ROLE_AND_ACCESS = `select set_config('role', $1, true), set_config('pgrcp.tenant_id', $2, true), set_config('pgrcp.credentials', $3, true),
  set_config('transaction_read_only', $4, true), set_config('plan_cache_mode', 'force_custom_plan', true)`;

/** One role's view of the one connection. */
export class EmbeddedSource implements LeaseSource {
  readonly #engine: EmbeddedEngine;
  readonly #role: ConnectionRole;

  constructor(engine: EmbeddedEngine, role: ConnectionRole) {
    this.#engine = engine;
    this.#role = role;
  }

  /** Operators wait their turn without end: a long import must not fail because the server is busy. */
  acquire(signal: AbortSignal, party: TenantId | undefined): Promise<Lease> {
    return this.#engine.acquire(signal, party, this.#role === "operator" || this.#role === "migrate");
  }

  preamble(access: Access | undefined): BatchStatement {
    const role = this.#role === "migrate" ? "none" : `pgrcp_${this.#role}`;
    return {
      text: SET_ROLE_AND_ACCESS,
      values: [role, access?.tenantId ?? "", credentialsOf(access), this.#role === "reader" ? "on" : "off"],
    };
  }

  nameOf(): undefined {
    return undefined;
  }
}
