import type { CallToolResult } from "@modelcontextprotocol/server";
import { ErrorCode, type RpcError } from "../../protocol/errors.ts";

/** A refused call as the result that a model reads. */
export const toolError = (error: RpcError): CallToolResult => ({
  content: [{ type: "text", text: refusalText(error) }],
  isError: true,
  _meta: { "pgrcp/code": error.code },
});

/** What was wrong, and what would be right. */
export function refusalText({ code, message, data }: RpcError): string {
  const { field, detail, retryAfterMs, retryable } = data;
  const where =
    code === ErrorCode.InvalidParams && field !== undefined ? `Invalid argument ${argumentOf(field)}` : message;
  const what = detail === undefined ? where : `${where}: ${detail}`;
  const again =
    retryAfterMs !== undefined
      ? `. Try again in ${Math.ceil(retryAfterMs / 1000)} s`
      : retryable === true
        ? ". Try again later"
        : "";
  return `${what}${again}.`;
}

/** The argument that a params path begins with; the tools say `filters` where RCP says `filter`. */
function argumentOf(field: string): string {
  const [name = ""] = field.split(/[.[]/, 1);
  return name === "filter" ? "filters" : name;
}
