import { readFileSync } from "node:fs";

/** The memory that a process of this machine holds. */
export const rssMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;

/** By nearest rank. @param share 0.95 for the 95th percentile */
export const percentile = (share: number, values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? Number.NaN;

export const p95 = (values: readonly number[]): number => percentile(0.95, values);
