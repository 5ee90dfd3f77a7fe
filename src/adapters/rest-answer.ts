import { ErrorCode } from "../protocol/errors.ts";
import type { DoorOutcome } from "./door-call.ts";
import type { RestTool, Values } from "./rest-tools.ts";

export interface RestAnswer {
  readonly status: number;
  readonly body: object;
  /** When to come again, if the error says so. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * The protocol tells success from failure by the status alone, so an error has the one that RCP §5.2 gives its kind where no
 * JSON-RPC answer can be had.
 */
const STATUS = {
  [ErrorCode.ParseError]: 400,
  [ErrorCode.InvalidRequest]: 400,
  [ErrorCode.InvalidParams]: 400,
  [ErrorCode.OptionUnsupported]: 400,
  [ErrorCode.Unauthorized]: 403,
  [ErrorCode.CapabilityMissing]: 404,
  [ErrorCode.UnknownMethod]: 404,
  [ErrorCode.NotFound]: 404,
  [ErrorCode.Conflict]: 409,
  [ErrorCode.PayloadTooLarge]: 413,
  [ErrorCode.RateLimited]: 429,
  [ErrorCode.InternalError]: 500,
  [ErrorCode.NotInitialized]: 500,
  [ErrorCode.VersionMismatch]: 500,
  [ErrorCode.BackendUnavailable]: 503,
  [ErrorCode.Cancelled]: 503,
  [ErrorCode.Timeout]: 504,
} as const satisfies Record<ErrorCode, number>;

/** An RCP answer as the tool gives it. An error keeps its shape, and names the tool's own param. */
export function restAnswer(tool: RestTool, values: Values, outcome: DoorOutcome): RestAnswer {
  if ("result" in outcome) return { status: 200, body: tool.answerOf(outcome.result) };
  const { code, message, data } = outcome.error;
  const at = data?.field;
  const field = at && tool.paramAt(at, values);
  const error =
    at === undefined || field === undefined
      ? outcome.error
      : { code, message: message.replace(at, () => field), data: { ...data, field } };
  return { status: STATUS[code as ErrorCode], body: { error }, retryAfterMs: data?.retryAfterMs };
}
