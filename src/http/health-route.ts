import type { FastifyInstance } from "fastify";
import { sendJson } from "./reply.ts";

/** How long one look at database and model answers for, so that anybody may ask without making work. */
const FRESH_MS = 1_000;

/**
 * Adds `GET /healthz` (this process answers) and `GET /readyz` (it can serve). Neither needs a token nor tells more than that.
 *
 * @param isReady database reachable, model running
 * @param draining aborts when the server is about to close, which counts at once
 */
export function addHealthRoutes(server: FastifyInstance, isReady: () => Promise<boolean>, draining: AbortSignal): void {
  const isReadyLately = remembered(isReady, FRESH_MS);
  server.get("/healthz", async (_request, reply) => sendJson(reply, '{"status":"ok"}'));
  server.get("/readyz", async (_request, reply) => {
    const ready = !draining.aborted && (await isReadyLately());
    return sendJson(reply.code(ready ? 200 : 503), ready ? '{"status":"ready"}' : '{"status":"not ready"}');
  });
}

/** Asks at most once per `freshMs`; callers meanwhile share the answer, or the wait for it. */
function remembered(ask: () => Promise<boolean>, freshMs: number): () => Promise<boolean> {
  let last: { readonly answer: Promise<boolean>; readonly askedAt: number } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.askedAt >= freshMs) last = { answer: ask(), askedAt: now };
    return last.answer;
  };
}
