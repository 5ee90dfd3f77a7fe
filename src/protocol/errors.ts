/**
 * The errors that cross the wire (RCP §12). A caller's mistake is an `RpcError` from a factory here: the factory fixes the
 * code and asks for its `error.data`. Anything else that is thrown is a bug or an outage and becomes -32603 in one place.
 */

/** RCP §12 code table, by symbol. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  InvalidParams: -32602,
  InternalError: -32603,
  NotInitialized: -32001,
  VersionMismatch: -32002,
  CapabilityMissing: -32003,
  UnknownMethod: -32004,
  OptionUnsupported: -32005,
  Cancelled: -32006,
  BackendUnavailable: -32010,
  RateLimited: -32011,
  Unauthorized: -32012,
  PayloadTooLarge: -32013,
  Timeout: -32014,
  NotFound: -32015,
  Conflict: -32016,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** RCP §12.1. `field` is a params path such as `filter.and[1].value`; `option` names an unadvertised option. */
export interface ErrorData {
  readonly field?: string;
  readonly option?: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  readonly detail?: string;
}

export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: ErrorCode;
  readonly data: ErrorData;

  constructor(code: ErrorCode, message: string, data: ErrorData = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** -32700. The text is constant: a parser's own message would quote the caller's bytes. */
export const parseError = () => new RpcError(ErrorCode.ParseError, "The body is not valid JSON");

/** -32600. */
export const invalidRequest = (detail: string) =>
  new RpcError(ErrorCode.InvalidRequest, "Not a valid JSON-RPC request", { detail });

/** -32602. `field` is the params path; `detail` says what would be right and never repeats the caller's value. */
export const invalidParams = (data: { field: string; option?: string; detail: string }) =>
  new RpcError(ErrorCode.InvalidParams, `Invalid params: ${data.field}`, data);

/** -32001. One answer for a missing, unknown, expired, ended or foreign session. */
export const notInitialized = () =>
  new RpcError(
    ErrorCode.NotInitialized,
    "No live session: send initialize first, then its _meta.session as RCP-Session",
  );

/** -32002. */
export const versionMismatch = () =>
  new RpcError(ErrorCode.VersionMismatch, "No common protocol version: this server speaks version 1");

/** -32003. */
export const capabilityMissing = (method: string) =>
  new RpcError(ErrorCode.CapabilityMissing, "This server does not advertise that method", {
    detail: `${method} is not advertised`,
  });

/** -32004. The method's name is the caller's text, so it is not repeated. */
export const unknownMethod = () => new RpcError(ErrorCode.UnknownMethod, "RCP/1 defines no such method");

/** -32005. `option` is the path of the option, such as `fusion.method`. */
export const optionUnsupported = (data: { option: string; detail: string }) =>
  new RpcError(ErrorCode.OptionUnsupported, `Option not advertised: ${data.option}`, data);

/** -32006. */
export const cancelled = () => new RpcError(ErrorCode.Cancelled, "The request was cancelled");

/** -32010. `detail` names the part that is out of reach, never an address or a driver's message. */
export const backendUnavailable = (
  data: { retryable: boolean; detail: string; retryAfterMs?: number },
  options?: ErrorOptions,
) => new RpcError(ErrorCode.BackendUnavailable, "A backend is not available", data, options);

/** -32011. */
export const rateLimited = (data: { retryAfterMs: number; detail: string }) =>
  new RpcError(ErrorCode.RateLimited, "Too many requests", { retryable: true, ...data });

/** -32012. Says nothing about what exists. */
export const unauthorized = (detail?: string) =>
  new RpcError(ErrorCode.Unauthorized, "Not authorised", detail === undefined ? {} : { detail });

/** -32013. `detail` names the setting that holds the limit and its value. */
export const payloadTooLarge = (data: { field?: string; detail: string }) =>
  new RpcError(ErrorCode.PayloadTooLarge, "The request exceeds a limit of this server", data);

/** -32014. */
export const timeout = (detail = "the request's deadline passed") =>
  new RpcError(ErrorCode.Timeout, "Deadline exceeded", { retryable: true, detail });

/** -32015. */
export const notFound = (detail: string) => new RpcError(ErrorCode.NotFound, "Not found", { detail });

/** -32016. */
export const conflict = (detail: string) => new RpcError(ErrorCode.Conflict, "Conflict", { detail });
