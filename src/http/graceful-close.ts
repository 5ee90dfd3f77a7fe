import type { FastifyInstance } from "fastify";
import type { Connections } from "./connections.ts";

/** What was accepted just before the listener closed may still be on its way to send a request. */
const LINGER_MS = 250;

/**
 * Makes `server.close()` lose no request: the listener closes first, then the connections that nothing runs on, a moment later;
 * what runs may finish for `graceMs` and is then cut off, which cancels its calls. Each answer ends its connection, from the moment
 * that the server drains.
 */
export function addGracefulClose(
  server: FastifyInstance,
  connections: Connections,
  draining: AbortSignal,
  graceMs: number,
): void {
  let isClosing = false;
  // Node and Fastify both close idle connections the moment that the listener closes, even one whose request is in the kernel already.
  server.server.closeIdleConnections = () => {};
  server.addHook("preClose", async () => {
    isClosing = true;
    const linger = setInterval(connections.closeUnused, LINGER_MS);
    const timer = setTimeout(connections.closeAll, graceMs);
    server.server.once("close", () => {
      clearInterval(linger);
      clearTimeout(timer);
    });
  });
  server.addHook("onSend", async (_request, reply) => {
    if (isClosing || draining.aborted) reply.header("connection", "close");
  });
}
