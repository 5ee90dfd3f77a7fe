import { setTimeout as sleep } from "node:timers/promises";
import { Skipped, Violation } from "./outcome.ts";
import type { Check, Level, Section } from "./rule.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** `warned`: a SHOULD was not held. */
export type Status = "passed" | "failed" | "warned" | "skipped";

export interface CheckResult {
  readonly section: string;
  readonly check: string;
  readonly rules: readonly string[];
  readonly level: Level;
  readonly status: Status;
  /** Why it is not `passed`. */
  readonly reason?: string;
}

export interface RunOptions {
  /** Section numbers to run, each with those below it; all when absent. */
  readonly only?: readonly string[];
  readonly onResult?: (result: CheckResult) => void;
  /** Longest that one check may take. */
  readonly checkTimeoutMs?: number;
}

const CHECK_TIMEOUT_MS = 120_000;

/**
 * Runs the checks one after the other, those that look at the whole run last. A check that fails stops none of the others.
 *
 * @returns the results in the order of the sections
 */
export async function runChecks(
  sections: readonly Section[],
  server: ServerUnderTest,
  options: RunOptions = {},
): Promise<readonly CheckResult[]> {
  const levels = new Map(sections.flatMap(({ rules }) => rules.map(({ id, level }) => [id, level])));
  const checks = sections.flatMap((section) => section.checks).filter(({ section }) => isWanted(section, options.only));
  const results: CheckResult[] = [];
  for (const check of [...checks.filter(({ last }) => !last), ...checks.filter(({ last }) => last)]) {
    const level = levelOf(check, levels);
    const outcome = await runCheck(check, server, options.checkTimeoutMs ?? CHECK_TIMEOUT_MS);
    const status: Status = outcome.status === "failed" && level.startsWith("SHOULD") ? "warned" : outcome.status;
    const result = { section: check.section, check: check.name, rules: check.rules, level, ...outcome, status };
    results.push(result);
    options.onResult?.(result);
  }
  const order = checks.map(({ section }) => section);
  return results.toSorted((a, b) => order.indexOf(a.section) - order.indexOf(b.section));
}

const isWanted = (section: string, only: readonly string[] | undefined): boolean =>
  only === undefined || only.some((wanted) => isWithin(section, wanted));

/** Whether a section is the one of that number or below it. */
export const isWithin = (section: string, number: string): boolean =>
  section === number || section.startsWith(`${number}.`);

/** The strongest of the levels of its rules. */
function levelOf({ rules }: Check, levels: ReadonlyMap<string, Level>): Level {
  const own = rules.map((id) => levels.get(id) ?? "MUST");
  return own.find((level) => level.startsWith("MUST")) ?? own[0] ?? "MUST";
}

async function runCheck(
  check: Check,
  server: ServerUnderTest,
  timeoutMs: number,
): Promise<{ readonly status: "passed" | "failed" | "skipped"; readonly reason?: string }> {
  if (check.transport !== undefined && check.transport !== server.kind)
    return { status: "skipped", reason: `${check.transport} only` };
  const stop = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: stop.signal }).then(() => {
    throw new Violation(`it took longer than ${timeoutMs} ms`);
  });
  try {
    await Promise.race([check.run(server), late]);
    return { status: "passed" };
  } catch (error) {
    if (error instanceof Skipped) return { status: "skipped", reason: error.message };
    if (error instanceof Violation) return { status: "failed", reason: error.message };
    throw error;
  } finally {
    stop.abort();
    late.catch(() => {});
    await server.closeOpened().catch(() => {});
  }
}
