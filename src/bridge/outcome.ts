import { backendUnavailable, type RpcError } from "../protocol/errors.ts";
import { isObject } from "../protocol/params.ts";
import type { JsonRpcId } from "../protocol/wire.ts";

/** How a call ends, without its id: the server's id never reaches the bridge's client. */
export type Outcome = { readonly result: Result } | { readonly error: WireError };

export type Result = Readonly<Record<string, unknown>>;

/** RCP §4.3 in the words of whoever refused; the code may be one that this version does not know. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** An error of the bridge's own. */
export function refused({ code, message, data }: RpcError): Outcome {
  return { error: Object.keys(data).length === 0 ? { code, message } : { code, message, data } };
}

/** One frame: compact JSON without a line feed (RCP §5.1). */
export function encodeAnswer(id: JsonRpcId | null, outcome: Outcome): string {
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
  } catch (error) {
    // JSON.parse reads any depth; writing it again is recursive.
    if (error instanceof RangeError)
      return encodeAnswer(id, refused(unusable("the server's answer is nested too deeply")));
    throw error;
  }
}

/** An answer that cannot be used. The call may have taken effect all the same, as after a lost connection (RCP §13.1). */
export const unusable = (detail: string): RpcError => backendUnavailable({ retryable: true, detail });

/**
 * The outcome that a JSON-RPC response states.
 *
 * @param id of the request; an error may also say null, which a server does that has not read it (RCP §4.7)
 * @returns -32010 for what is not the response to this request
 */
export function readOutcome(response: unknown, id: number): Outcome {
  if (!isObject(response)) return refused(unusable("the server's answer is not a JSON-RPC response"));
  const error = readWireError(response);
  if (error !== undefined && (response.id === null || response.id === id)) return { error };
  if (response.id !== id) return refused(unusable("the server's answer belongs to another request"));
  if (isObject(response.result)) return { result: response.result };
  return refused(unusable("the server's answer has neither a result object nor an error"));
}

/** The error of a JSON-RPC error response, whatever its id. */
export function readWireError(response: unknown): WireError | undefined {
  if (!isObject(response) || !isObject(response.error)) return undefined;
  const { code, message, data } = response.error;
  if (!Number.isSafeInteger(code) || typeof message !== "string") return undefined;
  return { code: Number(code), message, ...(data !== undefined && { data }) };
}
