import type { Params } from "../protocol/params.ts";
import { isObject } from "../protocol/params.ts";
import type { CheckResult, Status } from "./run-checks.ts";

type Counts = Readonly<Record<Status, number>>;

/** The machine-readable report. */
export interface Report {
  readonly protocol: "RCP/1";
  readonly transport: "stdio" | "http";
  /** As `initialize` or `info` has it. */
  readonly server: unknown;
  /** `_meta.conformance`, which the server says of itself. */
  readonly declaredLevel: unknown;
  readonly totals: Counts;
  /** In the protocol's order. */
  readonly sections: readonly (Counts & { readonly section: string })[];
  readonly results: readonly CheckResult[];
}

const countOf = (results: readonly CheckResult[]): Counts => {
  const count = (status: Status) => results.filter((result) => result.status === status).length;
  return { passed: count("passed"), failed: count("failed"), warned: count("warned"), skipped: count("skipped") };
};

export function reportOf(transport: Report["transport"], identity: Params, results: readonly CheckResult[]): Report {
  const bySection = Map.groupBy(results, ({ section }) => section);
  return {
    protocol: "RCP/1",
    transport,
    server: identity.server,
    declaredLevel: isObject(identity._meta) ? identity._meta.conformance : undefined,
    totals: countOf(results),
    sections: [...bySection].map(([section, own]) => ({ section, ...countOf(own) })),
    results,
  };
}

/** One line of a result, for people. */
export const resultLine = ({ status, section, check, reason }: CheckResult): string =>
  `${status.toUpperCase().padEnd(7)} §${section} ${check}${reason === undefined ? "" : `\n        ${reason}`}`;

/** Counts by section, for people. */
export function summary({ sections, totals }: Report): string {
  const line = (name: string, { passed, failed, warned, skipped }: Counts) =>
    `${name.padEnd(8)} ${[passed, failed, warned, skipped].map((count) => String(count).padStart(8)).join("")}`;
  const head = `${"section".padEnd(8)} ${["passed", "failed", "warned", "skipped"].map((name) => name.padStart(8)).join("")}`;
  return [head, ...sections.map((counts) => line(`§${counts.section}`, counts)), line("all", totals)].join("\n");
}
