import { invalidParams } from "./errors.ts";

/**
 * Readers for members of a params object. Each takes own members only, treats null as absent (RCP §4.6) and never coerces:
 * `"5"` is not 5. `path` is what stands before the member's name in `error.data.field`.
 */

export type Params = Readonly<Record<string, unknown>>;

/** The member's value, or undefined when it is absent, inherited or null. */
export function member(params: Params, name: string): unknown {
  if (!Object.hasOwn(params, name)) return undefined;
  return params[name] ?? undefined;
}

export const isObject = (value: unknown): value is Params =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const at = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

export interface Range {
  readonly min?: number;
  readonly max?: number;
}

const inRange = (value: number, { min = -Infinity, max = Infinity }: Range): boolean => value >= min && value <= max;

function rangeText({ min, max }: Range): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}

/** A JSON number without a fraction in the signed 53-bit range (RCP §4.6). */
export function readInteger(params: Params, name: string, range: Range = {}, path = ""): number | undefined {
  const value = member(params, name);
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && inRange(value, range)) return value;
  throw invalidParams({ field: at(path, name), detail: `must be an integer${rangeText(range)}` });
}

export function readNumber(params: Params, name: string, range: Range = {}, path = ""): number | undefined {
  const value = member(params, name);
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isFinite(value) && inRange(value, range)) return value;
  throw invalidParams({ field: at(path, name), detail: `must be a number${rangeText(range)}` });
}

export function readBoolean(params: Params, name: string, path = ""): boolean | undefined {
  const value = member(params, name);
  if (value === undefined || typeof value === "boolean") return value;
  throw invalidParams({ field: at(path, name), detail: "must be true or false" });
}

export function readString(params: Params, name: string, path = ""): string | undefined {
  const value = member(params, name);
  if (value === undefined || typeof value === "string") return value;
  throw invalidParams({ field: at(path, name), detail: "must be a string" });
}

export function readObject(params: Params, name: string, path = ""): Params | undefined {
  const value = member(params, name);
  if (value === undefined || isObject(value)) return value;
  throw invalidParams({ field: at(path, name), detail: "must be an object" });
}

/** Unlike its siblings, required: an absent or null array is refused. */
export function readArray(params: Params, name: string, path = ""): readonly unknown[] {
  const value = member(params, name);
  if (Array.isArray(value)) return value;
  throw invalidParams({ field: at(path, name), detail: "must be an array" });
}
