/** RCP §7: every method that RCP/1 defines, and behind them the one that is this server's own (§6.2). */
export const METHOD_NAMES = [
  "initialize",
  "info",
  "ping",
  "shutdown",
  "embed",
  "embed/sparse",
  "embed/multi",
  "rerank",
  "retrieve",
  "query/transform",
  "graph",
  "index/add",
  "index/delete",
  "catalog/list",
  "feedback",
  "memory/build",
  "memory/recall",
  "x-pgrcp/document",
] as const;
export type MethodName = (typeof METHOD_NAMES)[number];

const names: ReadonlySet<string> = new Set(METHOD_NAMES);
export const isMethodName = (name: string): name is MethodName => names.has(name);

export const PROTOCOL_VERSION = 1;
