import type { CallToolResult, JSONObject, Tool } from "@modelcontextprotocol/server";
import type { Capabilities } from "../../catalog/advertise.ts";
import type { CorpusName } from "../../catalog/corpus.ts";
import type { MethodName } from "../../protocol/methods.ts";
import type { Params } from "../../protocol/params.ts";

/** What a tool knows besides its arguments. */
export interface ToolCall {
  /** The corpus that the request's path names; undefined on the base path, where a call may name one. */
  readonly corpus: CorpusName | undefined;
  /** @throws RpcError what RCP refuses it with */
  call<Result = Params>(corpus: CorpusName, method: MethodName, params: object): Promise<Result>;
}

/** A tool, over one RCP method. */
export interface McpTool {
  /** @returns undefined where the server does not offer it */
  define(capabilities: Capabilities, corpus: CorpusName | undefined): Omit<Tool, "name" | "annotations"> | undefined;
  /** @throws RpcError */
  run(given: Params, call: ToolCall): Promise<CallToolResult>;
}

/** None of them changes anything, and none looks beyond the caller's own corpora. */
export const READ_ONLY = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** Present on the base path alone. */
export const corpusProperty = (corpus: CorpusName | undefined): JSONObject =>
  corpus === undefined ? { corpus: { type: "string", description: "which corpus; default when absent" } } : {};

/** What structured content says, as text for clients that read no other; and the addresses of documents. */
export const toolResult = (
  structuredContent: Readonly<Record<string, unknown>>,
  text: string,
  links: CallToolResult["content"] = [],
): CallToolResult => ({ content: [{ type: "text", text }, ...links], structuredContent });
