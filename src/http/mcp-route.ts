import type { FastifyInstance } from "fastify";
import type { McpDoorParts } from "../adapters/mcp/door.ts";
import type { Config } from "../config/config.ts";
import { isLoopback } from "../config/loopback.ts";
import { principalOf } from "./authenticate.ts";
import { goneSignal } from "./gone-signal.ts";
import { headerValues } from "./header-values.ts";
import { readBody } from "./read-body.ts";
import { sendAnswer } from "./reply.ts";
import { readTarget } from "./target.ts";
import { TransportRefusal } from "./transport-refusal.ts";

/** What MCP says in headers; no other reaches its SDK, tokens least of all. */
const HEADERS = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"] as const;

/** Adds `POST /mcp`, which the MCP target of every corpus is routed to. */
export function addMcpRoute(server: FastifyInstance, config: Config, parts: McpDoorParts): void {
  const limit = { bytes: config.server.maxBodyBytes, setting: "maxBodyBytes" } as const;
  const isOwn = ownOrigins(config);
  server.post("/mcp", async (request, reply) => {
    const target = readTarget(request.originalUrl);
    if (target.kind !== "mcp") throw new Error("only MCP targets are routed here");
    if (!headerValues(request.raw, "origin").every(isOwn)) throw new TransportRefusal(403);
    const body = await readBody(request.raw, reply.raw, limit);
    // The SDK takes half a second and 30 MB to load: who never uses this door pays neither.
    const { answerMcp } = await import("../adapters/mcp/door.ts");
    const { status, content } = await answerMcp(
      {
        headers: HEADERS.flatMap((name) => headerValues(request.raw, name).map((value) => [name, value] as const)),
        body,
        corpus: target.corpus,
        principal: principalOf(request),
        signal: goneSignal(reply, undefined),
      },
      parts,
    );
    reply.code(status);
    return content === undefined ? reply.send() : sendAnswer(reply, content.text, config.server, content.type);
  });
}

/**
 * MCP, streamable HTTP, security: a page of another origin is refused, so that a name which its owner turns to this machine
 * reaches nothing. Programs that are no browsers send no origin.
 */
function ownOrigins({ cors, server }: Pick<Config, "cors" | "server">): (origin: string) => boolean {
  const listed = new Set(cors.origins);
  if (server.publicUrl !== undefined) listed.add(new URL(server.publicUrl).origin);
  const isLocal = isLoopback(server.host);
  return (origin) => listed.has(origin) || (isLocal && URL.canParse(origin) && isLoopback(new URL(origin).hostname));
}
