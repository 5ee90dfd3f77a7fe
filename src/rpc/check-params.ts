import { invalidParams, timeout } from "../protocol/errors.ts";
import type { MethodName } from "../protocol/methods.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import { isWithinDepth } from "./json-depth.ts";

/** Members whose handlers limit depth themselves, and name the path where it is passed. */
const JUDGED_BY_METHOD: Partial<Record<MethodName, string>> = { retrieve: "filter", "index/add": "documents" };

/**
 * What every method asks of its params (RCP §4.1, §4.4): an object, or absent; `_meta` an object, or absent; no deeper than
 * `maxDepth`; a deadline that has not passed.
 *
 * @throws RpcError -32602 with field `params` or `_meta`; -32014 for a `deadlineMs` of 0 or less
 */
export function checkParams(method: MethodName, params: unknown, maxDepth: number): Params {
  const given = params ?? {};
  if (!isObject(given)) throw invalidParams({ field: "params", detail: "must be an object" });
  const judgedHere = Object.entries(given).filter(([name]) => name !== JUDGED_BY_METHOD[method]);
  if (!judgedHere.every(([, value]) => isWithinDepth(value, maxDepth - 1)))
    throw invalidParams({ field: "params", detail: `nests at most ${maxDepth} levels deep (limits.maxJsonDepth)` });
  const meta = member(given, "_meta");
  if (meta !== undefined && !isObject(meta)) throw invalidParams({ field: "_meta", detail: "must be an object" });
  const deadlineMs = deadlineOf(given);
  if (deadlineMs !== undefined && deadlineMs <= 0) throw timeout("_meta.deadlineMs must be above 0");
  return given;
}

/** `_meta.deadlineMs` if it is a number; anything else there is ignored. Safe to call on params not checked yet. */
export function deadlineOf(params: unknown): number | undefined {
  const value = metaOf(params, "deadlineMs");
  return typeof value === "number" ? value : undefined;
}

const TRACE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** `_meta.traceId` if it is plain enough for a log line (RCP §17.2). */
export function traceIdOf(params: unknown): string | undefined {
  const value = metaOf(params, "traceId");
  return typeof value === "string" && TRACE_ID.test(value) ? value : undefined;
}

function metaOf(params: unknown, name: string): unknown {
  const meta = isObject(params) ? member(params, "_meta") : undefined;
  return isObject(meta) ? member(meta, name) : undefined;
}
