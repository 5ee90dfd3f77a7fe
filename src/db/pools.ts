import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import { FairTurns } from "../load/fair-turns.ts";
import type { Observe } from "../observability/observation.ts";
import { backendUnavailable, type RpcError } from "../protocol/errors.ts";
import type { BatchStatement } from "./batch.ts";
import { requestCancel } from "./cancel-request.ts";
import type { Access } from "./database.ts";
import { type ConnectionRole, credentialsOf, type Lease, type LeaseSource } from "./lease.ts";
import { codeOf, notConnected } from "./pg-errors.ts";
import { statementNames } from "./statement-names.ts";

/** How long an abandoned statement may take to notice that it was cancelled, before its socket is cut. */
const CANCEL_GRACE_MS = 2_000;

const SET_ACCESS =
  "select set_config('pgrcp.tenant_id', $1, true), set_config('pgrcp.credentials', $2, true), set_config('statement_timeout', $3, true), set_config('plan_cache_mode', $4, true)";

export interface PoolLimits {
  readonly size: number;
  /** Most connections of one tenant. */
  readonly sizePerTenant: number;
  readonly waitMs: number;
  readonly connectTimeoutMs: number;
  readonly preparedStatements: boolean | "auto";
}

export const poolLimitsOf = ({ database }: Config): PoolLimits => ({
  size: database.poolSize,
  sizePerTenant: Math.ceil(database.poolSize * database.poolTenantShare),
  waitMs: database.poolWaitMs,
  connectTimeoutMs: database.connectTimeoutMs,
  preparedStatements: database.preparedStatements,
});

/** How one role logs in: the URL says where, the role's own settings say who. A user in the URL is somebody else. */
export function connectionOf(url: string, login: { user: string; password?: string | undefined }): pg.ClientConfig {
  const target = new URL(url);
  target.username = encodeURIComponent(login.user);
  target.password = encodeURIComponent(login.password ?? "");
  return { connectionString: target.href, fallback_application_name: "pgrcp" };
}

/**
 * Whether Postgres itself is at the other end. A pooler, which may give each transaction another backend, hands out process numbers
 * of its own for cancelling.
 */
async function isDirect(client: pg.ClientBase & { readonly processID?: number | null }): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid === client.processID;
}

/** A role's connections. One pool per role, so a slow writer cannot take the readers' connections. */
export class RolePool implements LeaseSource {
  readonly #pool: pg.Pool;
  readonly #role: ConnectionRole;
  readonly #limits: PoolLimits;
  /** As many places as the pool has connections, so that nobody waits within it, where all would be one queue. */
  readonly #turns: FairTurns;
  readonly #observe: Observe;
  readonly #names = statementNames();
  /** Whether connections keep what was parsed on them. */
  #keepsNames: boolean;
  #hasPooler = false;

  constructor(role: ConnectionRole, connection: pg.ClientConfig, limits: PoolLimits, observe: Observe) {
    this.#role = role;
    this.#limits = limits;
    this.#turns = new FairTurns({
      places: limits.size,
      placesPerParty: limits.sizePerTenant,
      waiting: { ms: limits.waitMs, busy: () => this.#unavailable("every database connection is in use") },
    });
    this.#observe = observe;
    this.#keepsNames = limits.preparedStatements === true;
    const lookBehind = async (client: pg.ClientBase): Promise<void> => {
      this.#hasPooler ||= !(await isDirect(client));
      this.#keepsNames = !this.#hasPooler;
    };
    const options = { ...connection, connectionTimeoutMillis: limits.connectTimeoutMs, keepAlive: true };
    const pool = { max: limits.size, idleTimeoutMillis: 60_000, allowExitOnIdle: true };
    const looking = limits.preparedStatements === "auto" ? { onConnect: lookBehind } : {};
    this.#pool = new pg.Pool({ ...options, ...pool, ...looking });
    // A lost connection is an event on the client, lent or not, and once more on the pool; unheard, either ends the process.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.once("error", (error) => this.#report("connection-lost", error));
      client.on("error", () => {});
    });
  }

  nameOf(text: string): string | undefined {
    return this.#keepsNames ? this.#names(text) : undefined;
  }

  async acquire(signal: AbortSignal, party: TenantId | undefined): Promise<Lease> {
    const startedAt = performance.now();
    const leave = await this.#turns.enter(signal, party);
    const leftMs = this.#limits.waitMs - (performance.now() - startedAt);
    const client = await this.#connect(signal, leftMs, leave);
    return {
      client,
      release: () => {
        try {
          client.release();
        } finally {
          leave();
        }
      },
      abandon: (running) =>
        void this.#destroy(client, running)
          .catch((error: unknown) => this.#report("abandon", error))
          .finally(leave),
    };
  }

  preamble(access: Access | undefined, timeoutMs: number | undefined, isPlannedOnce = false): BatchStatement {
    const plans = isPlannedOnce && this.#keepsNames ? "force_generic_plan" : "force_custom_plan";
    return {
      text: SET_ACCESS,
      values: [access?.tenantId ?? "", credentialsOf(access), String(timeoutMs ?? 0), plans],
      name: this.nameOf(SET_ACCESS),
    };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /**
   * The pool cannot be told to stop connecting, so a connection that comes too late goes straight back.
   *
   * @param leave ends the turn, when there will be no connection
   */
  async #connect(signal: AbortSignal, waitMs: number, leave: () => void): Promise<pg.PoolClient> {
    if (signal.aborted) {
      leave();
      throw signal.reason;
    }
    const isIdle = this.#pool.idleCount > this.#pool.waitingCount;
    const pending = this.#pool.connect();
    // One that is idle comes at once, so there is nothing that would have to be given up.
    if (isIdle) {
      return await pending.catch((error: unknown) => {
        leave();
        throw notConnected(error);
      });
    }
    return await new Promise((resolve, reject) => {
      let hasGivenUp = false;
      const giveUp = (reason: unknown) => {
        hasGivenUp = true;
        off();
        reject(reason);
        pending
          .then((client) => client.release())
          .catch(() => {})
          .finally(leave);
      };
      const abort = () => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(this.#unavailable("the database does not answer")), waitMs);
      signal.addEventListener("abort", abort, { once: true });
      const off = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      pending.then(
        (client) => {
          off();
          resolve(client);
        },
        (error: unknown) => {
          if (hasGivenUp) return;
          off();
          reject(notConnected(error));
          leave();
        },
      );
    });
  }

  #unavailable(detail: string): RpcError {
    return backendUnavailable({ retryable: true, retryAfterMs: this.#limits.waitMs, detail });
  }

  /** Cancels what runs and destroys the connection. The place in the pool is held until then: abandoned work stays bounded. */
  async #destroy(client: pg.PoolClient, running: Promise<unknown> | undefined): Promise<void> {
    if (running !== undefined) {
      const stopped = Promise.allSettled([requestCancel(client, CANCEL_GRACE_MS), running]);
      await Promise.race([stopped, sleep(CANCEL_GRACE_MS, undefined, { ref: false })]);
    }
    client.release(true);
  }

  #report(event: string, error: unknown): void {
    const sqlstate = codeOf(error);
    this.#observe({ kind: "database", event, role: this.#role, ...(sqlstate !== undefined && { sqlstate }) });
  }
}
