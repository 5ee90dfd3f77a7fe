/** The library `pgrcp/client`: RCP/1 over HTTPS for TypeScript agents. */
export { corpusEndpoint } from "./endpoint.ts";
export { RcpCallError, RcpTransportError, type TransportFault } from "./errors.ts";
export {
  type CallOptions,
  RcpClient,
  type RcpClientOptions,
  type RetryNotice,
  type TokenSource,
} from "./rcp-client.ts";
export { DEFAULT_RETRY, type RetryPolicy } from "./retry.ts";
export type { AddResult, DeleteResult, NewDocument, RetrieveParams, ServerInfo } from "./types.ts";
