import { BlockList, isIP } from "node:net";

/**
 * Tells whether an address stands in a list. What is no address stands in none, nor does one with a zone (`%eth0`).
 *
 * @param entries addresses, and ranges such as `10.1.2.0/24`
 */
export function addressRanges(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = familyOf(address) ?? "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => {
    const family = familyOf(address);
    return family !== undefined && !address.includes("%") && list.check(address, family);
  };
}

const FAMILIES: Readonly<Record<number, "ipv4" | "ipv6">> = { 4: "ipv4", 6: "ipv6" };

const familyOf = (address: string) => FAMILIES[isIP(address)];
