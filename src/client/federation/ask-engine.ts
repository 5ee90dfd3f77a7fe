import { ErrorCode } from "../../protocol/errors.ts";
import { isObject } from "../../protocol/params.ts";
import type { RetrieveResult } from "../../protocol/wire.ts";
import { RcpCallError, RcpCapabilityError, RcpTransportError } from "../errors.ts";
import type { RcpClient } from "../rcp-client.ts";
import type { RetryPolicy } from "../retry.ts";
import type { RetrieveParams } from "../types.ts";
import type { EngineFailure } from "./federation-error.ts";

/** One engine's part in a federated retrieve. */

export interface FederatedEngine {
  readonly id: string;
  readonly client: RcpClient;
  readonly weight: number;
  readonly required: boolean;
  readonly deadlineMs: number;
}

export type EngineReply =
  | { readonly kind: "answered"; readonly result: RetrieveResult; readonly scoreFloor: number | undefined }
  | { readonly kind: "failed"; readonly failure: EngineFailure; readonly error: unknown }
  /** It does not advertise what is asked for, which is no error (RCP §16.2). */
  | { readonly kind: "lacking" };

export interface Asked {
  readonly params: RetrieveParams;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** By `performance.now()`. */
  readonly endsAt: number;
  readonly retry: Partial<RetryPolicy>;
}

/**
 * Asks an engine what it offers, unless that is known, and retrieves from it within its deadline. Whatever takes longer, be it a
 * source of tokens, is left behind.
 *
 * @throws the reason of the signal alone
 */
export async function askEngine(
  engine: FederatedEngine,
  { params, signal, endsAt, retry }: Asked,
): Promise<EngineReply> {
  signal.throwIfAborted();
  const { client } = engine;
  const failed = (code: number, error: unknown): EngineReply => ({
    ...{ kind: "failed", error },
    failure: { engine: engine.id, code },
  });
  const ownEnd = Math.min(performance.now() + engine.deadlineMs, endsAt);
  const leftMs = () => Math.floor(ownEnd - performance.now());
  if (!(leftMs() >= 1)) return failed(ErrorCode.Timeout, new Error("no time was left to ask"));
  const late = AbortSignal.timeout(leftMs());
  const left = AbortSignal.any([signal, late]);
  const ask = async (): Promise<EngineReply> => {
    if (client.serverInfo === undefined) await client.info({ signal: left, retry, deadlineMs: leftMs() });
    const result = await client.retrieve(params, { signal: left, retry, deadlineMs: leftMs() });
    return { kind: "answered", result, scoreFloor: scoreFloorOf(client) };
  };
  try {
    return await orAborted(ask(), left);
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) return failed(ErrorCode.Timeout, error);
    if (error instanceof RcpCapabilityError && !engine.required) return { kind: "lacking" };
    return failed(codeOf(error), error);
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = () => reject(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  return promise;
}

function codeOf(error: unknown): number {
  if (error instanceof RcpCallError) return Number.isSafeInteger(error.code) ? error.code : ErrorCode.InternalError;
  if (error instanceof RcpTransportError)
    return error.fault === "timeout" ? ErrorCode.Timeout : ErrorCode.BackendUnavailable;
  if (error instanceof RcpCapabilityError)
    return error.capability === "retrieve" ? ErrorCode.CapabilityMissing : ErrorCode.OptionUnsupported;
  return ErrorCode.InternalError;
}

/** RCP §6.1. It is never inferred from `scoreScale`. */
function scoreFloorOf({ serverInfo }: RcpClient): number | undefined {
  const retrieve = serverInfo?.capabilities.retrieve;
  const floor = isObject(retrieve) ? retrieve.scoreFloor : undefined;
  return typeof floor === "number" && Number.isFinite(floor) ? floor : undefined;
}
