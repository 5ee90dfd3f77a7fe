import type { AddressInfo } from "node:net";
import type { Config } from "../config/config.ts";
import { isLoopback } from "../config/loopback.ts";

type Server = Pick<Config["server"], "publicUrl" | "host" | "behindTls" | "tls">;

/** Where clients reach this server, as far as it knows, without a slash at the end. A Host header is never asked: it is the caller's word. */
export function ownUrl({ publicUrl, tls }: Server, { address, port, family }: AddressInfo): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/$/, "");
  const host = family === "IPv6" ? `[${address}]` : address;
  return `${tls === undefined ? "http" : "https"}://${host}:${port}`;
}

/** Whether clients may be told to send their tokens there: it is configured, or the very address on this machine that they called. */
export const isOwnUrlKnown = ({ publicUrl, host, behindTls }: Server): boolean =>
  publicUrl !== undefined || (isLoopback(host) && !behindTls);
