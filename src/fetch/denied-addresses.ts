import { isIP } from "node:net";
import { addressRanges } from "../config/address-ranges.ts";

/**
 * Addresses that are nobody's public server (IANA's special-purpose registries, and what clouds put beside them).
 * Of IPv6 only 2000::/3 is public, so loopback, link-local, unique local, mapped, compatible and NAT64 forms need no row.
 */
const isSpecial = addressRanges([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32", // Azure's platform services
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "2001::/23", // Teredo, ORCHID, benchmarking, protocol assignments
  "2001:db8::/32",
  "2002::/16", // 6to4
  "2620:4f:8000::/48",
  "3fff::/20",
]);

const isPublicV6 = addressRanges(["2000::/3"]);

/** True for what is no public unicast address, and for what is no address. A zone is only ever part of one of this machine's own links. */
export function isDenied(address: string): boolean {
  const isUnicast = isIP(address) === 4 || isPublicV6(address);
  return !isUnicast || isSpecial(address);
}
