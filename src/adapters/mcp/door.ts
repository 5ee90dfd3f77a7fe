import {
  createMcpHandler,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { CorpusName } from "../../catalog/corpus.ts";
import type { Observe } from "../../observability/observation.ts";
import { isObject } from "../../protocol/params.ts";
import { decodeUtf8 } from "../../protocol/text.ts";
import type { Dispatcher } from "../../rpc/dispatch.ts";
import { isWithinDepth } from "../../rpc/json-depth.ts";
import { callThroughDoor, type DoorCaller, resultOf } from "../door-call.ts";
import { mcpServer } from "./server.ts";

/** MCP's streamable HTTP over the dispatcher, each request by itself: no sessions, no streams, nothing kept. */

export interface McpRequest extends DoorCaller {
  /** Those that MCP speaks of, each value as it came. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** The one that the path names; undefined on the base path. */
  readonly corpus: CorpusName | undefined;
}

export interface McpAnswer {
  readonly status: number;
  /** Undefined without a body. */
  readonly content: { readonly type: string; readonly text: string } | undefined;
}

export interface McpDoorParts {
  readonly dispatcher: Dispatcher;
  readonly observe: Observe;
  /** Objects and arrays inside each other. */
  readonly maxJsonDepth: number;
}

/** Answers one message of an MCP client, of this protocol's newest revision (2026-07-28) or of those before it. */
export async function answerMcp(
  asked: McpRequest,
  { dispatcher, observe, maxJsonDepth }: McpDoorParts,
): Promise<McpAnswer> {
  const message = parse(asked.body);
  if (message === undefined) return refused(-32700, "The body is not valid JSON");
  // Several in one body would be answered at the price of one.
  if (!isObject(message)) return refused(-32600, "The body is one JSON-RPC message");
  if (!isWithinDepth(message, maxJsonDepth))
    return refused(-32600, `A message nests at most ${maxJsonDepth} levels deep (limits.maxJsonDepth)`);
  const server = mcpServer({
    corpus: asked.corpus,
    principal: asked.principal,
    observe,
    call: async (corpus, method, params) => resultOf(await callThroughDoor(dispatcher, asked, corpus, method, params)),
  });
  const request = new Request("http://pgrcp/mcp", { method: "POST", headers: asked.headers.map(([...pair]) => pair) });
  return readResponse(await answer(server, request, message));
}

async function answer(server: Server, request: Request, parsedBody: object): Promise<Response> {
  if (!(await isLegacyRequest(request, parsedBody)))
    return createMcpHandler(() => server, { legacy: "reject" }).fetch(request, { parsedBody });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody });
  } finally {
    await server.close();
  }
}

async function readResponse(response: Response): Promise<McpAnswer> {
  const text = await response.text();
  const type = response.headers.get("content-type");
  return { status: response.status, content: text === "" || type === null ? undefined : { type, text } };
}

/** JSON has no `undefined`. */
function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(body));
  } catch {
    return undefined;
  }
}

const refused = (code: number, message: string): McpAnswer => ({
  status: 400,
  content: { type: "application/json", text: JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }) },
});
