import type { FastifyReply } from "fastify";
import type { Observe } from "../observability/observation.ts";
import { backendFailed, encodeError, internalError, isBackendFailure } from "../rpc/response.ts";
import { closeGently } from "./connections.ts";
import { sendJson } from "./reply.ts";
import { TransportRefusal } from "./transport-refusal.ts";

/** Turns what a hook or Fastify threw into a transport answer, so that no error shape but JSON-RPC's or an empty body leaves. */
export function answerError(observe: Observe) {
  return (error: unknown, reply: FastifyReply): FastifyReply => {
    const refusal = refusalOf(error);
    if (refusal.status >= 500) {
      if (error !== refusal) observe({ kind: "internal-error", where: "http", error });
      // One without a cause is the server's own decision, and that was logged when it was taken.
      else if (refusal.cause !== undefined && refusal.body !== undefined && isBackendFailure(refusal.body)) {
        observe(backendFailed("http", refusal.body));
      }
    }
    reply.code(refusal.status).headers(refusal.headers);
    if (refusal.headers.connection === "close" && reply.raw.socket !== null) closeGently(reply.raw.socket);
    return refusal.body === undefined ? reply.send() : sendJson(reply, encodeError(null, refusal.body));
  };
}

function refusalOf(error: unknown): TransportRefusal {
  if (error instanceof TransportRefusal) return error;
  const statusCode = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500)
    return new TransportRefusal(statusCode, { connection: "close" });
  return new TransportRefusal(500, {}, internalError());
}
