import { Violation } from "../conformance/outcome.ts";
import type { Lab } from "./lab.ts";
import { type Door, noAnswer, type Outcome, type Trick, type Verdict } from "./trick.ts";

/** One trick and what came of it. */
export interface Finding extends Outcome {
  readonly door: Door;
  readonly trick: string;
  readonly sent: string;
}

/** Tries one after the other. @param onFinding told of each as it ends */
export async function runTricks(
  tricks: readonly Trick[],
  lab: Lab,
  onFinding: (finding: Finding) => void = () => {},
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const trick of tricks) {
    const { door, name, sent } = trick;
    const finding = { door, trick: name, sent, ...(await outcomeOf(trick, lab)) };
    findings.push(finding);
    onFinding(finding);
  }
  return findings;
}

async function outcomeOf(trick: Trick, lab: Lab): Promise<Outcome> {
  const missing = missingFor(trick, lab);
  if (missing !== undefined) return { answer: missing, verdict: "not tried" };
  try {
    const outcome = await trick.run(lab);
    if (outcome.verdict !== "held") return outcome;
    // What refuses everybody everything has defended nothing: a token may have expired meanwhile.
    const { result, status } = await lab.own();
    return result === undefined
      ? noAnswer(`the tenant's own question is not answered any more: HTTP ${status}`)
      : outcome;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return { answer: error.message, verdict: "no answer" };
  }
}

function missingFor({ needs }: Trick, { options }: Lab): string | undefined {
  if (needs === "other tenant" && options.otherTenant === undefined) return "--other-tenant is not given";
  return needs === "other token" && options.otherToken === undefined ? "--other-token-file is not given" : undefined;
}

export const countOf = (findings: readonly Finding[], verdict: Verdict): number =>
  findings.filter((finding) => finding.verdict === verdict).length;
