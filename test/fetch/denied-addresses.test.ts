import { describe, expect, test } from "vitest";
import { isDenied } from "../../src/fetch/denied-addresses.ts";

/** The last address before a range, its first and last, and the first after it. */
const EDGES = [
  ["0.0.0.0", "0.255.255.255", undefined, "1.0.0.0"],
  ["10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"],
  ["169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["224.0.0.0", "255.255.255.255", "223.255.255.255", undefined],
  ["2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::1", "2001:200::"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff::1", "2001:db9::"],
  ["2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::1", "2003::"],
  ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::1", "3fff:1000::"],
  ["::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", undefined, "2000::1"],
  ["4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::1", undefined],
] as const;

describe("denied ranges, to the address", () => {
  test.each(EDGES)("%s to %s", (first, last, before, after) => {
    expect([first, last].map(isDenied)).toEqual([true, true]);
    for (const neighbour of [before, after]) if (neighbour !== undefined) expect(isDenied(neighbour)).toBe(false);
  });
});

test.each([
  ["mapped", "::ffff:93.184.215.14"],
  ["mapped, in hexadecimal", "::FFFF:5db8:d70e"],
  ["mapped, written out", "0:0:0:0:0:ffff:93.184.215.14"],
  ["compatible", "::93.184.215.14"],
  ["translated", "::ffff:0:93.184.215.14"],
  ["NAT64", "64:ff9b::5db8:d70e"],
  ["NAT64, of a network", "64:ff9b:1::5db8:d70e"],
  ["6to4", "2002:5db8:d70e::1"],
  ["Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  ["unique local", "fd00:ec2::254"],
  ["link-local", "fe80::1"],
  ["with a zone", "2606:4700::1%eth0"],
  ["multicast", "ff02::1"],
  ["loopback", "::1"],
  ["in octal", "0177.0.0.1"],
  ["a number", "2130706433"],
  ["a name", "localhost"],
  ["nothing", ""],
])("denied: %s", (_what, address) => {
  expect(isDenied(address)).toBe(true);
});
