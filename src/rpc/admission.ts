import type { TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import { FairTurns } from "../load/fair-turns.ts";
import { rateLimited } from "../protocol/errors.ts";
import type { MethodName } from "../protocol/methods.ts";
import { METHODS } from "./method-facts.ts";

/** How soon a place may be free again. */
const RETRY_AFTER_MS = 1_000;

/** Bounds the calls that this process runs and those that wait, of all tenants and of each (RCP §15.5). */
export interface Admission {
  /**
   * Waits until the call may run.
   *
   * @returns to be called when it has ended
   * @throws RpcError -32011 when too many wait; the signal's reason when it aborts first
   */
  enter(method: MethodName, tenantId: TenantId, signal: AbortSignal): Promise<() => void>;
}

/** Reads and writes have places of their own. The core methods pass: they cost little. */
export function createAdmission({ load }: Pick<Config, "load">): Admission {
  const turns = (kind: "reads" | "writes") => {
    const { running, waiting } = load[kind];
    return new FairTurns({
      places: running,
      placesPerParty: Math.ceil(running * load.tenantShare),
      waiting: {
        max: waiting,
        maxPerParty: Math.ceil(waiting * load.tenantShare),
        busy: () =>
          rateLimited({ retryAfterMs: RETRY_AFTER_MS, detail: `too many ${kind} are waiting (load.${kind})` }),
      },
    });
  };
  const lines = { read: turns("reads"), write: turns("writes") };
  return {
    async enter(method, tenantId, signal) {
      const { kind } = METHODS[method];
      return kind === "core" ? () => {} : await lines[kind].enter(signal, tenantId);
    },
  };
}
