import { ErrorCode, type ErrorData } from "../../protocol/errors.ts";

/** An engine that did not answer, and the RCP code for why. What it said itself is for the host's own log (`onFailure`). */
export interface EngineFailure {
  readonly engine: string;
  readonly code: number;
}

interface FederationErrorFields {
  readonly code: number;
  readonly message: string;
  readonly data?: ErrorData;
  readonly engine?: string;
  readonly failed?: readonly EngineFailure[];
}

/** A federated retrieve has no answer. The message names engines and codes, and repeats nothing that an engine said. */
export class FederationError extends Error {
  override readonly name = "FederationError";
  readonly code: number;
  readonly data: ErrorData;
  /** The required engine whose failure this is. */
  readonly engine: string | undefined;
  readonly failed: readonly EngineFailure[];

  constructor({ code, message, data = {}, engine, failed = [] }: FederationErrorFields) {
    super(message);
    this.code = code;
    this.data = data;
    this.engine = engine;
    this.failed = failed;
  }
}

/** RCP §16.2: the code is that engine's. */
export const requiredFailed = (failure: EngineFailure) =>
  new FederationError({
    code: failure.code,
    message: `the required engine ${failure.engine} failed with ${failure.code}`,
    data: { retryable: isTransient(failure) },
    engine: failure.engine,
    failed: [failure],
  });

/** RCP §16.2: nothing answered, which is not the same as nothing found. */
export const noneAnswered = (failed: readonly EngineFailure[], notes: readonly string[]) =>
  new FederationError({
    code: ErrorCode.BackendUnavailable,
    message: `no engine answered: ${notes.join("; ")}`,
    data: { retryable: failed.some(isTransient) },
    failed,
  });

export const wrongParam = (field: string, detail: string) =>
  new FederationError({
    code: ErrorCode.InvalidParams,
    message: `${field} ${detail}`,
    data: { field, detail },
  });

/** Something that belongs to one engine alone. */
export const unsupported = (option: string) =>
  new FederationError({
    code: ErrorCode.OptionUnsupported,
    message: `${option} means something to one engine alone, so a federation does not take it`,
    data: { option },
  });

/** RCP §12.2. */
const isTransient = ({ code }: EngineFailure): boolean =>
  code === ErrorCode.BackendUnavailable || code === ErrorCode.RateLimited || code === ErrorCode.Timeout;
