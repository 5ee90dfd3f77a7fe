import type { FastifyInstance } from "fastify";
import type { Connections } from "./connections.ts";

/** A connection that was just accepted, or is kept by a client, may have a request on its way when the listener closes. */
const LINGER_MS = 1_000;

/**
 * Makes `server.close()` lose no request: the listener closes first, then the connections that nothing runs on, a moment later;
 * what runs may finish for `graceMs` and is then cut off, which cancels its calls.
 *
 * Only from then on does each answer end its connection. The kernel resets a connection that it has taken and this process has not
 * when the listener closes, so clients must have no reason to make new ones before: they keep theirs while the server drains.
 */
export function addGracefulClose(server: FastifyInstance, connections: Connections, graceMs: number): void {
  let isClosing = false;
  // Node and Fastify both close idle connections the moment that the listener closes, even one whose request is in the kernel already.
  server.server.closeIdleConnections = () => {};
  server.addHook("preClose", async () => {
    // Here and not where Fastify does it, some turns of the event loop after it has begun to end connections.
    const { promise: ended, resolve } = Promise.withResolvers<unknown>();
    server.server.close(resolve);
    isClosing = true;
    const linger = setInterval(connections.closeUnused, LINGER_MS);
    const timer = setTimeout(connections.closeAll, graceMs);
    await ended;
    clearInterval(linger);
    clearTimeout(timer);
  });
  server.addHook("onSend", (_request, reply, payload, done) => {
    if (isClosing) reply.header("connection", "close");
    done(null, payload);
  });
}
