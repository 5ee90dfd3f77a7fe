/** The library `pgrcp/client`: RCP/1 over HTTPS for TypeScript agents, wherever there is `fetch`. */
export { ErrorCode } from "../protocol/errors.ts";
export {
  type AgentTool,
  type AgentToolEvent,
  type AgentToolOptions,
  type BoundParams,
  type ClientSource,
  createAgentTools,
} from "./agent-tools.ts";
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
  type TrustOptions,
} from "./render-hits.ts";
export { type BoundValue, type Resolver, type Resolvers, UnresolvedParamError } from "./resolvers.ts";
export { DEFAULT_RETRY, type RetryPolicy } from "./retry.ts";
export type { ToolAnswer } from "./tool-definitions.ts";
export { type ParamsSchema, ToolInputError, type ToolParam } from "./tool-params.ts";
export type * from "./types.ts";
