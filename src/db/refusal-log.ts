import type { Observe } from "../observability/observation.ts";
import { PlainError } from "../protocol/failure.ts";
import { type RefusedCalls, recordRefusals } from "../sql/refusals.ts";
import type { Database } from "./database.ts";

/** Repeats are counted for so long before they are written. */
const PERIOD_MS = 600_000;
/** Callers and methods of one tenant that are told apart in a period; what more there is becomes one record. */
const MAX_KINDS = 50;
/** Tenants that are told apart in a period; one more ends it early. */
const MAX_TENANTS = 1_000;
/** Records on their way to the database; what comes while there are so many is in the log alone. */
const MAX_PENDING = 10_000;
const TIMEOUT_MS = 5_000;
const MANY = { issuer: "several", subject: "several", client: "", method: "several" } as const;

export type Refusal = Omit<RefusedCalls, "count">;

/**
 * Keeps the audit record of refused calls, beside the calls: nobody waits for it, and it fails nobody. The first refusal of a
 * principal and method is written at once; further ones of the period are counted and written as one record at its end. So a
 * process writes at most about a hundred records of a tenant in ten minutes, however often it refuses, unless it refuses a thousand
 * tenants.
 */
export class RefusalLog {
  readonly #database: Database;
  readonly #observe: Observe;
  /** Per tenant, by principal and method; a count of 0 says that all there is was written. */
  #repeats = new Map<string, Map<string, RefusedCalls>>();
  /** One after the other: refusals take one connection at most. */
  #writing: Promise<void> = Promise.resolve();
  #pending = 0;
  readonly #ending = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(database: Database, observe: Observe) {
    this.#database = database;
    this.#observe = observe;
    this.#timer = setInterval(() => this.#endPeriod(), PERIOD_MS).unref();
  }

  /** Never throws and never waits. */
  add(refusal: Refusal): void {
    if (!this.#repeats.has(refusal.tenantId) && this.#repeats.size >= MAX_TENANTS) this.#endPeriod();
    const ofTenant = this.#repeats.get(refusal.tenantId) ?? new Map<string, RefusedCalls>();
    this.#repeats.set(refusal.tenantId, ofTenant);
    const own = keyOf(refusal);
    const kind = ofTenant.has(own) || ofTenant.size < MAX_KINDS ? refusal : severalOf(refusal);
    const key = keyOf(kind);
    const earlier = ofTenant.get(key);
    ofTenant.set(key, { ...kind, count: earlier === undefined ? 0 : earlier.count + 1 });
    if (earlier === undefined) this.#write({ ...kind, count: 1 });
  }

  /** Writes what is counted, as far as the database takes it in a few seconds. It is still open. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#endPeriod();
    const late = setTimeout(() => this.#ending.abort(), TIMEOUT_MS);
    await this.#writing;
    clearTimeout(late);
  }

  #endPeriod(): void {
    const ended = this.#repeats;
    this.#repeats = new Map();
    for (const ofTenant of ended.values())
      for (const repeated of ofTenant.values()) if (repeated.count > 0) this.#write(repeated);
  }

  #write(refused: RefusedCalls): void {
    if (this.#pending >= MAX_PENDING) {
      this.#fail(refused, new PlainError("too many records wait for the database"));
      return;
    }
    this.#pending += 1;
    this.#writing = this.#writing
      .then(() => this.#insert(refused))
      .catch((error: unknown) => this.#fail(refused, error))
      .finally(() => {
        this.#pending -= 1;
      });
  }

  #fail({ tenantId, count }: RefusedCalls, error: unknown): void {
    this.#observe({ kind: "audit-failed", tenant: tenantId, refusals: count, error });
  }

  async #insert(refused: RefusedCalls): Promise<void> {
    const access = { tenantId: refused.tenantId, credentials: new Set<never>() };
    const limits = { signal: this.#ending.signal, timeoutMs: TIMEOUT_MS };
    await this.#database.read("state", access, [recordRefusals(refused)], limits);
  }
}

const keyOf = ({ issuer, subject, client, method }: Refusal): string =>
  JSON.stringify([issuer, subject, client, method]);

const severalOf = ({ tenantId }: Refusal): Refusal => ({
  tenantId,
  ...MANY,
  tokenId: undefined,
  corpus: undefined,
  detail: undefined,
});
