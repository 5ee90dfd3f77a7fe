import type { FastifyInstance } from "fastify";
import type { Connections } from "./connections.ts";

/** A connection that was just accepted, or is kept by a client, may have a request on its way when the listener closes. */
const LINGER_MS = 500;

/**
 * Makes `server.close()` lose no request: the listener closes first, then the connections that nothing runs on, a moment later;
 * what runs may finish for `graceMs` and is then cut off, which cancels its calls.
 *
 * Only now does each answer end its connection. While the server drains, clients keep theirs: the kernel resets a connection that it
 * has taken and this process has not when the listener closes, so the fewer are being made then, the better.
 */
export function addGracefulClose(server: FastifyInstance, connections: Connections, graceMs: number): void {
  let isClosing = false;
  // Node and Fastify both close idle connections the moment that the listener closes, even one whose request is in the kernel already.
  server.server.closeIdleConnections = () => {};
  server.addHook("preClose", async () => {
    isClosing = true;
    // Right after the turn of the event loop that took every connection which had come.
    await new Promise((resolve) => setImmediate(resolve));
    const linger = setInterval(connections.closeUnused, LINGER_MS);
    const timer = setTimeout(connections.closeAll, graceMs);
    server.server.once("close", () => {
      clearInterval(linger);
      clearTimeout(timer);
    });
  });
  server.addHook("onSend", async (_request, reply) => {
    if (isClosing) reply.header("connection", "close");
  });
}
