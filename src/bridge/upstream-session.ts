import { isDeepStrictEqual } from "node:util";
import { ErrorCode } from "../protocol/errors.ts";
import { isObject, member } from "../protocol/params.ts";
import type { Outcome, Result, WireError } from "./outcome.ts";

/** What `initialize` agreed on with the server (RCP §13), kept so that it can be agreed on once more. */
export interface UpstreamSession {
  /** The value of RCP-Session; undefined for a server that keeps no sessions. */
  readonly token: string | undefined;
  /** The client's own, as it sent them. */
  readonly params: unknown;
  readonly agreed: Agreed;
}

/** What the client may rely on until the connection ends (RCP §13.2). */
interface Agreed {
  readonly protocolVersion: unknown;
  readonly capabilities: unknown;
}

/** What a header may hold. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @returns the session, and the result as the client is to see it: without `_meta.session`, which stays with the bridge */
export function readSession(
  params: unknown,
  result: Result,
): { readonly session: UpstreamSession; readonly shown: Result } {
  const { protocolVersion, capabilities } = result;
  const meta = isObject(result._meta) ? result._meta : {};
  const { session: token, ...shownMeta } = meta;
  const session = {
    token: typeof token === "string" && TOKEN.test(token) ? token : undefined,
    params,
    agreed: { protocolVersion, capabilities: withoutCounts(capabilities) },
  };
  return { session, shown: token === undefined ? result : { ...result, _meta: shownMeta } };
}

/** How many engines a catalogue has is no promise: `catalog/list` says which there are now (RCP §7.13). */
const withoutCounts = (capabilities: unknown): unknown =>
  isObject(capabilities) && isObject(member(capabilities, "catalog")) ? { ...capabilities, catalog: {} } : capabilities;

/** The server no longer knows the session that it was sent (RCP §13). */
export const isSessionLost = (outcome: Outcome): boolean =>
  "error" in outcome && outcome.error.code === ErrorCode.NotInitialized;

/** `changed` when the server no longer offers what the client was told, so that the client must begin anew. */
export type Reopened =
  | { readonly kind: "same"; readonly session: UpstreamSession }
  | { readonly kind: "changed"; readonly session: UpstreamSession | undefined }
  | { readonly kind: "failed"; readonly error: WireError };

/** Compares what a repeated `initialize` came to with what was agreed on. */
export function compareSession({ params, agreed }: UpstreamSession, outcome: Outcome): Reopened {
  if ("error" in outcome) {
    const { error } = outcome;
    return error.code === ErrorCode.VersionMismatch
      ? { kind: "changed", session: undefined }
      : { kind: "failed", error };
  }
  const { session } = readSession(params, outcome.result);
  return { kind: isDeepStrictEqual(session.agreed, agreed) ? "same" : "changed", session };
}

/** RCP §17.1: logs are for a client that has asked for them, with its capabilities or with a level. */
export function wantsLogs(params: unknown): boolean {
  if (!isObject(params)) return false;
  const capabilities = member(params, "capabilities");
  return (isObject(capabilities) && isObject(member(capabilities, "log"))) || hasLogLevel(params);
}

/** Any level counts: which ones there are is for the server to judge. */
export function hasLogLevel(params: unknown): boolean {
  const meta = isObject(params) ? member(params, "_meta") : undefined;
  return isObject(meta) && typeof member(meta, "logLevel") === "string";
}
