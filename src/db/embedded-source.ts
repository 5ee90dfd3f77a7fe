import type { TenantId } from "../catalog/corpus.ts";
import type { BatchStatement } from "./batch.ts";
import type { EmbeddedEngine } from "./embedded-engine.ts";
import type { ConnectionRole, Lease, LeaseSource } from "./lease.ts";

/**
 * The embedded database has one login, so the role is part of each transaction. Settings that `alter role` gives a login are set
 * beside it.
 */
const SET_ROLE_AND_TENANT = `select set_config('role', $1, true), set_config('pgrcp.tenant_id', $2, true),
  set_config('transaction_read_only', $3, true), set_config('plan_cache_mode', 'force_custom_plan', true)`;

/** One role's view of the one connection. */
export class EmbeddedSource implements LeaseSource {
  readonly #engine: EmbeddedEngine;
  readonly #role: ConnectionRole;

  constructor(engine: EmbeddedEngine, role: ConnectionRole) {
    this.#engine = engine;
    this.#role = role;
  }

  /** Operators wait their turn without end: a long import must not fail because the server is busy. */
  acquire(signal: AbortSignal): Promise<Lease> {
    return this.#engine.acquire(signal, this.#role === "operator" || this.#role === "migrate");
  }

  preamble(tenantId: TenantId | undefined): BatchStatement {
    const role = this.#role === "migrate" ? "none" : `pgrcp_${this.#role}`;
    return { text: SET_ROLE_AND_TENANT, values: [role, tenantId ?? "", this.#role === "reader" ? "on" : "off"] };
  }

  nameOf(): undefined {
    return undefined;
  }
}
