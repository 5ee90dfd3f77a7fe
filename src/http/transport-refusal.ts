import type { RpcError } from "../protocol/errors.ts";

/** An answer of the transport, before JSON-RPC saw the request: status, headers and, for some, a body with `id: null`. */
export class TransportRefusal extends Error {
  override readonly name = "TransportRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: RpcError | undefined;

  constructor(status: number, headers: TransportRefusal["headers"] = {}, body?: RpcError, options?: ErrorOptions) {
    super(`refused with HTTP ${status}`, options);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}
