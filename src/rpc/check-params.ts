import { invalidParams, timeout } from "../protocol/errors.ts";
import type { MethodName } from "../protocol/methods.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import { deadlineOf } from "./call-meta.ts";
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
