import type { CallMessage } from "../protocol/message.ts";
import { isObject, member } from "../protocol/params.ts";

/** Where requests of the newer revisions say which one they are of. */
const REVISION = "io.modelcontextprotocol/protocolVersion";

/** What the header Mcp-Name repeats, by method. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

const PLAIN = /^[\x21-\x7e]+$/;

/**
 * What a request says in headers when it goes over HTTP: on stdio its body says it all.
 *
 * @param agreed the revision that `initialize` came to, which requests of it do not name
 * @returns undefined for a method that no header can carry, so that no server has it
 * @see MCP 2026-07-28, streamable HTTP, standard request headers
 */
export function mcpHeaders(
  { method, params }: CallMessage,
  agreed: string | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!PLAIN.test(method)) return undefined;
  const meta = isObject(params) ? member(params, "_meta") : undefined;
  const named = isObject(meta) ? member(meta, REVISION) : undefined;
  const revision = named ?? (method === "initialize" ? undefined : agreed);
  const name = isObject(params) ? member(params, NAMED_BY.get(method) ?? "") : undefined;
  return {
    accept: "application/json, text/event-stream",
    ...(typeof revision === "string" && PLAIN.test(revision) && { "mcp-protocol-version": revision }),
    ...(named !== undefined && { "mcp-method": method }),
    ...(named !== undefined && typeof name === "string" && { "mcp-name": headerValue(name) }),
  };
}

/** As it is, or in base64 where a header could not carry it or it looks like that already. */
const headerValue = (text: string): string =>
  PLAIN.test(text) && !text.startsWith("=?") ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
