import type { DefinerFacts, LeakproofFacts, StrayFacts, ViewFacts } from "./bypass-facts.ts";
import { error, type Finding, warning } from "./finding.ts";

/** What would let a login, or whoever it shares the database with, at rows without a policy being asked. */

/**
 * What such a routine does cannot be read off the catalog, so it is refused until somebody who knows says otherwise.
 *
 * @param trusted routines that the configuration vouches for, named as `routine` is
 */
export function checkDefiner({ routine, owner, callers }: DefinerFacts, trusted: readonly string[]): Finding {
  const severity = trusted.includes(routine) ? warning : error;
  return severity(
    `${callers} may call ${routine}, which runs with the rights of ${owner}, whom row level security does not hold`,
    `run: revoke execute on routine ${routine} from public, ${callers} -- or, if no tenant's row can be had from it, name it in database.trustedRoutines`,
  );
}

export function checkView({ view, materialized, inReach }: ViewFacts): Finding {
  const severity = inReach ? error : warning;
  if (materialized) {
    return severity(
      `the materialized view ${view} holds tenants' rows, which no policy guards there`,
      `run: drop materialized view ${view}`,
    );
  }
  return severity(
    `the view ${view} reads tenants' rows with its owner's rights, not with those of who asks`,
    `run: alter view ${view} set (security_invoker = true)`,
  );
}

export function checkStray({ child, parent }: StrayFacts): Finding {
  return error(
    `${child} is a child of ${parent}, and only one of them is pgrcp's: a query of the parent asks no policy of the child`,
    `take ${child} out: \`alter table ${parent} detach partition ${child}\`, or \`alter table ${child} no inherit ${parent}\``,
  );
}

export function checkLeakproof({ routine, used }: LeakproofFacts): Finding {
  const severity = used ? error : warning;
  return severity(
    `${routine} is marked leakproof: Postgres may run it on rows before a policy has judged them`,
    `run: alter function ${routine} not leakproof`,
  );
}
