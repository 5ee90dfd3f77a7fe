import type { Observe } from "../observability/observation.ts";
import { type LogPosition, type StandbyFacts, standbyFacts } from "../sql/replicas.ts";
import type { StatementLimits } from "./database.ts";
import type { LeaseSource } from "./lease.ts";
import { sqlstateOf } from "./pg-errors.ts";
import { readInBatch } from "./tenant-transaction.ts";

type Trouble = "late" | "away" | "other";

/** Why this is not a replica to read from, if it is not. */
export function troubleOf(facts: StandbyFacts, primary: LogPosition): Trouble | undefined {
  if (!facts.isStandby || facts.database !== primary.database) return "other";
  return facts.hasReplayed ? undefined : "late";
}

/** One replica: read from only after it was looked at and found well, and until it fails. */
export class Replica {
  /** Its host, port and database. */
  readonly place: string;
  readonly source: LeaseSource;
  readonly #observe: Observe;
  #isUsed = false;
  #isLookedAt = false;
  /** What was told last. */
  #trouble: Trouble | undefined;

  constructor(place: string, source: LeaseSource, observe: Observe) {
    this.place = place;
    this.source = source;
    this.#observe = observe;
  }

  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Takes it out until it is looked at again. */
  drop(trouble: Trouble, sqlstate: string | undefined): void {
    this.#isUsed = false;
    if (this.#trouble === trouble) return;
    this.#trouble = trouble;
    const code = sqlstate === undefined ? {} : { sqlstate };
    this.#observe({ kind: "replica", replica: this.place, state: "unused", reason: trouble, ...code });
  }

  /** Looks whether it is well, one look at a time. Never rejects. */
  async lookAt(primary: LogPosition, limits: StatementLimits): Promise<void> {
    if (this.#isLookedAt) return;
    this.#isLookedAt = true;
    try {
      const [[facts]] = await readInBatch(this.source, undefined, [standbyFacts(primary.position)], limits, {
        attempts: 1,
      });
      const trouble = facts === undefined ? "other" : troubleOf(facts, primary);
      if (trouble === undefined) this.#use();
      else this.drop(trouble, undefined);
    } catch (error) {
      this.drop("away", sqlstateOf(error));
    } finally {
      this.#isLookedAt = false;
    }
  }

  #use(): void {
    if (this.#isUsed) return;
    this.#isUsed = true;
    this.#trouble = undefined;
    this.#observe({ kind: "replica", replica: this.place, state: "used" });
  }
}
