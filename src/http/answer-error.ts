import type { FastifyReply } from "fastify";
import type { Observe } from "../observability/observation.ts";
import { payloadTooLarge } from "../protocol/errors.ts";
import { backendFailed, encodeError, internalError, isBackendFailure } from "../rpc/response.ts";
import { closeGently } from "./connections.ts";
import { sendJson } from "./reply.ts";
import { TransportRefusal } from "./transport-refusal.ts";

/**
 * Turns what a hook or Fastify threw into a transport answer, so that no error shape but JSON-RPC's or an empty body leaves.
 *
 * @param maxBodyBytes named in the answer to a body over it
 */
export function answerError(maxBodyBytes: number, observe: Observe) {
  return (error: unknown, reply: FastifyReply): FastifyReply => {
    const refusal = refusalOf(error, maxBodyBytes);
    if (refusal.status >= 500) {
      if (error !== refusal) observe({ kind: "internal-error", where: "http", error });
      else if (refusal.body !== undefined && isBackendFailure(refusal.body)) {
        observe(backendFailed("http", refusal.body));
      }
    }
    reply.code(refusal.status).headers(refusal.headers);
    if (refusal.headers.connection === "close" && reply.raw.socket !== null) closeGently(reply.raw.socket);
    return refusal.body === undefined ? reply.send() : sendJson(reply, encodeError(null, refusal.body));
  };
}

function refusalOf(error: unknown, maxBodyBytes: number): TransportRefusal {
  if (error instanceof TransportRefusal) return error;
  const { code, statusCode } = fastifyErrorOf(error);
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    const detail = `a body holds at most ${maxBodyBytes} bytes (server.maxBodyBytes)`;
    return new TransportRefusal(413, { connection: "close" }, payloadTooLarge({ detail }));
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new TransportRefusal(statusCode, { connection: "close" });
  return new TransportRefusal(500, {}, internalError());
}

function fastifyErrorOf(error: unknown): { readonly code?: unknown; readonly statusCode?: number } {
  if (!(error instanceof Error)) return {};
  const statusCode =
    "statusCode" in error && typeof error.statusCode === "number" ? { statusCode: error.statusCode } : {};
  return { ...("code" in error && { code: error.code }), ...statusCode };
}
