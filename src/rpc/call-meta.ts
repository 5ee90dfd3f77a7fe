import { isObject, member } from "../protocol/params.ts";
import { LOG_LEVELS, type LogLevel } from "../protocol/wire.ts";

/** Members of a call's `_meta` that the dispatcher itself reads. Safe on params not checked yet; what is unusable is ignored (RCP §4.4). */

/** Milliseconds the caller waits (RCP §16.2). */
export function deadlineOf(params: unknown): number | undefined {
  const value = metaOf(params, "deadlineMs");
  return typeof value === "number" ? value : undefined;
}

const TRACE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The caller's trace, if it is plain enough for a log line (RCP §17.2). */
export function traceIdOf(params: unknown): string | undefined {
  const value = metaOf(params, "traceId");
  return typeof value === "string" && TRACE_ID.test(value) ? value : undefined;
}

/** A string or an integer that can be echoed as it is; anything else asks for no progress (RCP §9). */
export function progressTokenOf(params: unknown): string | number | undefined {
  const value = metaOf(params, "progressToken");
  return typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value)) ? value : undefined;
}

/** The least severe log line that the caller wants (RCP §17.1). */
export function logLevelOf(params: unknown): LogLevel | undefined {
  const value = metaOf(params, "logLevel");
  return LOG_LEVELS.find((level) => level === value);
}

function metaOf(params: unknown, name: string): unknown {
  const meta = isObject(params) ? member(params, "_meta") : undefined;
  return isObject(meta) ? member(meta, name) : undefined;
}
