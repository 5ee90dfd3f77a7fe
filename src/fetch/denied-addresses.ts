import { BlockList, isIP } from "node:net";

/**
 * Addresses that are nobody's public server (IANA's special-purpose registries, and what clouds put beside them).
 * Of IPv6 only 2000::/3 is public, so loopback, link-local, unique local, mapped, compatible and NAT64 forms need no row.
 */
const DENIED_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's platform services
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

const DENIED_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23], // Teredo, ORCHID, benchmarking, protocol assignments
  ["2001:db8::", 32],
  ["2002::", 16], // 6to4
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
];

const PUBLIC_V6 = new BlockList();
PUBLIC_V6.addSubnet("2000::", 3, "ipv6");

const DENIED = new BlockList();
for (const [address, prefix] of DENIED_V4) DENIED.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of DENIED_V6) DENIED.addSubnet(address, prefix, "ipv6");

/** True for what is no public unicast address, and for what is no address. */
export function isDenied(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return DENIED.check(address, "ipv4");
  // A zone (`%eth0`) is only ever part of an address of this machine's own links.
  if (family !== 6 || address.includes("%")) return true;
  return !PUBLIC_V6.check(address, "ipv6") || DENIED.check(address, "ipv6");
}

/** @param ranges such as `10.1.2.0/24` */
export function rangesOf(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && !address.includes("%") && list.check(address, family === 6 ? "ipv6" : "ipv4");
  };
}
