import type { FastifyInstance, onRequestAsyncHookHandler } from "fastify";
import { sendJson } from "./reply.ts";
import type { ResourceMetadata } from "./resource-metadata.ts";
import { readTarget } from "./target.ts";

/** Adds `GET /.well-known/oauth-protected-resource`, which needs no token (RFC 9728 §3.1). */
export function addMetadataRoute(
  server: FastifyInstance,
  metadata: ResourceMetadata,
  byAddress: onRequestAsyncHookHandler,
): void {
  server.get("/metadata", { onRequest: byAddress }, async (request, reply) => {
    const target = readTarget(request.originalUrl);
    const document = target.kind === "metadata" ? metadata.documentAt(target.suffix) : undefined;
    if (document === undefined) throw new Error("only addresses that have a document are routed here");
    return sendJson(reply, document);
  });
}
