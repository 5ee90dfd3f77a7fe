import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { normalizeIP } from "@fastify/rate-limit";
import { addressRanges } from "../config/address-ranges.ts";
import { bareAddress } from "./client-address.ts";

/** The open connections of a server: Node itself loses sight of those that never sent a request or finished a handshake. */
export interface Connections {
  /** True when a part of an answer is out, so that nothing else may be written. */
  isAnswering(socket: Duplex): boolean;
  /** Closes every connection that no request is running on. */
  closeUnused(): void;
  closeAll(): void;
}

/** How many connections one address may hold. */
export interface AddressShare {
  readonly max: number;
  /** Addresses and ranges that may hold any number: behind each stand many clients. */
  readonly exempt: readonly string[];
}

/** That wait for one answer to end: eleven do where it is streamed. More than twice as many would be a leak. */
const MAX_LISTENERS = 24;

/** @param server not listening yet; a connection over an address's share is closed before anything is read */
export function trackConnections(server: Server, share: AddressShare): Connections {
  // By the peer's address, because under TLS a request's socket is not the one that was accepted.
  const open = new Map<string, Duplex>();
  const running = new Map<string, number>();
  const latest = new WeakMap<Duplex, ServerResponse>();

  const held = new Map<string, number>();
  const isExempt = addressRanges(share.exempt);

  server.on("connection", (socket) => {
    const remoteAddress = bareAddress(socket.remoteAddress ?? "");
    if (!isExempt(remoteAddress)) {
      const address = normalizeIP(remoteAddress);
      const count = held.get(address) ?? 0;
      if (count >= share.max) {
        socket.destroy();
        return;
      }
      held.set(address, count + 1);
      socket.once("close", () => {
        const left = (held.get(address) ?? 1) - 1;
        if (left === 0) held.delete(address);
        else held.set(address, left);
      });
    }
    const peer = peerOf(socket);
    open.set(peer, socket);
    socket.once("close", () => {
      if (open.get(peer) === socket) open.delete(peer);
    });
  });
  server.on("request", ({ socket }, response) => {
    response.setMaxListeners(MAX_LISTENERS);
    const peer = peerOf(socket);
    latest.set(socket, response);
    running.set(peer, (running.get(peer) ?? 0) + 1);
    response.once("close", () => {
      const left = (running.get(peer) ?? 1) - 1;
      if (left === 0) running.delete(peer);
      else running.set(peer, left);
    });
  });

  return {
    isAnswering(socket) {
      const response = latest.get(socket);
      return response?.headersSent === true && !response.writableFinished;
    },
    closeUnused() {
      for (const [peer, socket] of open) if (!running.has(peer)) socket.destroy();
    },
    closeAll() {
      for (const socket of open.values()) socket.destroy();
    },
  };
}

const peerOf = ({
  remoteAddress,
  remotePort,
}: {
  remoteAddress?: string | undefined;
  remotePort?: number | undefined;
}) => `${remoteAddress} ${remotePort}`;

/** How long a refused client may go on sending. */
const LINGER_MS = 1_000;

/**
 * Makes a connection that is to be closed after its answer end gently. Closed while the client still sends, the kernel would
 * reset it and the client would lose the answer with it; so our half ends first, and what comes is read and dropped.
 */
export function closeGently(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
  };
}
