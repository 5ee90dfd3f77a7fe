/** The library `pgrcp/client`: RCP/1 over HTTPS for TypeScript agents, wherever there is `fetch`. */
export type { CallOptions, RcpClientOptions, RetryNotice, TokenSource } from "./caller.ts";
export { corpusEndpoint } from "./endpoint.ts";
export { RcpCallError, RcpCapabilityError, RcpTransportError, type TransportFault } from "./errors.ts";
export * from "./filter.ts";
export { type AddOptions, RcpClient, type WriteOptions } from "./rcp-client.ts";
export {
  type Citation,
  type RenderableHit,
  type RenderedHits,
  type RenderOptions,
  renderHits,
  type Treatment,
} from "./render-hits.ts";
export { DEFAULT_RETRY, type RetryPolicy } from "./retry.ts";
export type * from "./types.ts";
