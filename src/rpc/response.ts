import type { Observation } from "../observability/observation.ts";
import { ErrorCode, RpcError } from "../protocol/errors.ts";
import type { JsonRpcId } from "../protocol/wire.ts";

/** RCP §4.2 as text. `JSON.stringify` writes -0 as 0 and a lone surrogate as its escape, so every id is echoed. */
export const encodeResult = (id: JsonRpcId, result: object): string => JSON.stringify({ jsonrpc: "2.0", id, result });

/** RCP §4.3 as text. */
export function encodeError(id: JsonRpcId | null, { code, message, data }: RpcError): string {
  const error = Object.keys(data).length === 0 ? { code, message } : { code, message, data };
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

/** A refusal with a reason behind it that only the log may know. */
export const isBackendFailure = ({ code, cause }: RpcError): boolean =>
  cause !== undefined || code === ErrorCode.BackendUnavailable;

/** What the log has of such a refusal. @param where the method, or the part of the transport */
export function backendFailed(where: string, error: RpcError): Observation {
  const { detail } = error.data;
  return { kind: "backend-failed", where, code: error.code, ...(detail !== undefined && { detail }), error };
}

/** -32603. The text is constant: what happened is for the log. */
export const internalError = (): RpcError =>
  new RpcError(ErrorCode.InternalError, "The server failed to answer; the failure is in its log");
