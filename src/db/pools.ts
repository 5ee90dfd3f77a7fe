import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import type { BatchStatement } from "./batch.ts";
import { requestCancel } from "./cancel-request.ts";
import type { Access } from "./database.ts";
import { type ConnectionRole, credentialsOf, type Lease, type LeaseSource } from "./lease.ts";
import { codeOf } from "./pg-errors.ts";
import { statementNames } from "./statement-names.ts";

/** How long an abandoned statement may take to notice that it was cancelled, before its socket is cut. */
const CANCEL_GRACE_MS = 2_000;

const SET_ACCESS =
  "select set_config('pgrcp.tenant_id', $1, true), set_config('pgrcp.credentials', $2, true), set_config('statement_timeout', $3, true)";

export interface PoolLimits {
  readonly size: number;
  readonly waitMs: number;
  readonly connectTimeoutMs: number;
  readonly preparedStatements: boolean;
}

export const poolLimitsOf = ({ database }: Config): PoolLimits => ({
  size: database.poolSize,
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

/** A role's connections. One pool per role, so a slow writer cannot take the readers' connections. */
export class RolePool implements LeaseSource {
  readonly #pool: pg.Pool;
  readonly #role: ConnectionRole;
  readonly #limits: PoolLimits;
  readonly #observe: Observe;
  readonly nameOf: (text: string) => string | undefined;

  constructor(role: ConnectionRole, connection: pg.ClientConfig, limits: PoolLimits, observe: Observe) {
    this.#role = role;
    this.#limits = limits;
    this.#observe = observe;
    this.nameOf = limits.preparedStatements ? statementNames() : () => undefined;
    const options = { ...connection, connectionTimeoutMillis: limits.connectTimeoutMs, keepAlive: true };
    this.#pool = new pg.Pool({ ...options, max: limits.size, idleTimeoutMillis: 60_000, allowExitOnIdle: true });
    // A lost connection is an event on the client, lent or not, and once more on the pool; unheard, either ends the process.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.once("error", (error) => this.#report("connection-lost", error));
      client.on("error", () => {});
    });
  }

  async acquire(signal: AbortSignal): Promise<Lease> {
    const client = await this.#connect(signal);
    return {
      client,
      release: () => client.release(),
      abandon: (running) => void this.#destroy(client, running),
    };
  }

  preamble(access: Access | undefined, timeoutMs: number | undefined): BatchStatement {
    return {
      text: SET_ACCESS,
      values: [access?.tenantId ?? "", credentialsOf(access), String(timeoutMs ?? 0)],
      name: this.nameOf(SET_ACCESS),
    };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** The pool cannot be told to stop waiting, so a connection that comes too late goes straight back. */
  async #connect(signal: AbortSignal): Promise<pg.PoolClient> {
    signal.throwIfAborted();
    const pending = this.#pool.connect();
    return await new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        off();
        reject(reason);
        pending.then((client) => client.release()).catch(() => {});
      };
      const abort = () => leave(signal.reason);
      const full = () => {
        const inUse = this.#pool.totalCount >= this.#limits.size;
        const detail = inUse ? "every database connection is in use" : "the database does not answer";
        leave(backendUnavailable({ retryable: true, retryAfterMs: this.#limits.waitMs, detail }));
      };
      const timer = setTimeout(full, this.#limits.waitMs);
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
          off();
          reject(error);
        },
      );
    });
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
