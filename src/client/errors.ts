import type { ErrorData } from "../protocol/errors.ts";
import type { MethodName } from "../protocol/methods.ts";

/** The ways in which a call can fail: the server said no, no answer came, or it was never made. */

interface CallErrorFields {
  readonly code: number;
  readonly message: string;
  readonly data: ErrorData;
  readonly httpStatus: number;
  readonly retryAfterMs: number | undefined;
}

/**
 * The server answered with a JSON-RPC error (RCP §12), or with an HTTP status that mirrors one (RCP §5.2).
 *
 * `message` and `data` are the server's own words; `code` may be one that this version does not know.
 */
export class RcpCallError extends Error {
  override readonly name = "RcpCallError";
  readonly code: number;
  readonly data: ErrorData;
  readonly httpStatus: number;
  /** The larger of `Retry-After` and `error.data.retryAfterMs`. */
  readonly retryAfterMs: number | undefined;

  constructor(fields: CallErrorFields) {
    super(fields.message);
    this.code = fields.code;
    this.data = fields.data;
    this.httpStatus = fields.httpStatus;
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/**
 * - `unreachable`: no connection was made, so the server saw nothing
 * - `interrupted`: the connection was lost; the call may or may not have taken effect (RCP §13.1)
 * - `timeout`: the client's own deadline passed; the same holds
 * - `status`: an HTTP status without a JSON-RPC body that no RCP code mirrors, such as 404
 * - `malformed`: an answer that is not the response to this request
 */
export type TransportFault = "unreachable" | "interrupted" | "timeout" | "status" | "malformed";

/** No JSON-RPC answer came. `detail` says what happened without repeating the URL or the token. */
export class RcpTransportError extends Error {
  override readonly name = "RcpTransportError";
  readonly fault: TransportFault;
  readonly detail: string;
  /** False where the same call cannot succeed later, such as a name that does not resolve or a certificate that does not hold. */
  readonly retryable: boolean;

  constructor(fault: TransportFault, detail: string, retryable: boolean, options?: ErrorOptions) {
    super(`no answer from the server: ${detail}`, options);
    this.fault = fault;
    this.detail = detail;
    this.retryable = retryable;
  }
}

/** The server does not advertise what the call needs, so nothing was sent (RCP §14.4). */
export class RcpCapabilityError extends Error {
  override readonly name = "RcpCapabilityError";
  readonly method: MethodName;
  /** Such as `graph` or `retrieve.mmr`. */
  readonly capability: string;

  constructor(method: MethodName, capability: string) {
    super(`the server does not advertise ${capability}, which this call of ${method} needs`);
    this.method = method;
    this.capability = capability;
  }
}
