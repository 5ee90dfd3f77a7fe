import { isIP } from "node:net";
import { normalizeIP } from "@fastify/rate-limit";
import type { FastifyRequest } from "fastify";

/**
 * Whose share of connections and requests a request counts for: an IPv4 address, or the /64 of an IPv6 one. What a trusted proxy says
 * and is no address counts as the proxy's own.
 */
export function clientAddress({ ip, socket }: Pick<FastifyRequest, "ip" | "socket">): string {
  const address = bareAddress(ip);
  return normalizeIP(isIP(address) === 0 ? bareAddress(socket.remoteAddress ?? "") : address);
}

/** An address without the brackets and the port that some proxies write, which are another's at each connection, and without its link's zone. */
export function bareAddress(hop: string): string {
  const [, inBrackets] = /^\[([^\]]*)\](?::\d+)?$/.exec(hop) ?? [];
  const [, beforePort] = /^([\d.]+):\d+$/.exec(hop) ?? [];
  return (inBrackets ?? beforePort ?? hop).replace(/%.*/, "");
}
