import { expect, test } from "vitest";
import { addressRanges } from "../../src/config/address-ranges.ts";

test("a list holds its addresses and those of its ranges, and no others", () => {
  const isListed = addressRanges(["10.1.2.0/24", "192.0.2.7", "fd00:1::/32"]);

  expect(["10.1.2.0", "10.1.2.255", "192.0.2.7", "fd00:1::5", "::ffff:10.1.2.3"].map(isListed)).toEqual(
    Array.from({ length: 5 }, () => true),
  );
  expect(["10.1.1.255", "10.1.3.0", "192.0.2.8", "fd00:2::", "fd00:1::5%eth0", "a", ""].some(isListed)).toBe(false);
});
