import { isIP } from "node:net";
import { addressRanges } from "./address-ranges.ts";

const isLoopbackAddress = addressRanges(["127.0.0.0/8", "::1"]);

/** Whether only this machine can reach a server that listens on the host. A name other than `localhost` may lead anywhere. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  return isIP(bare) === 0 ? bare.toLowerCase() === "localhost" : isLoopbackAddress(bare);
}
