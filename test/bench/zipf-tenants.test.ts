import { expect, test } from "vitest";
import { placeOf, zipfShares, zipfTenants } from "../../bench/zipf-tenants.ts";
import { SeededRandom } from "../support/seeded-random.ts";

test("the nth tenant has 1/n of the first one's share", () => {
  // 1 + 1/2 + 1/3 = 11/6
  const expected = [6 / 11, 3 / 11, 2 / 11];

  for (const [at, share] of zipfShares(3).entries()) expect(share).toBeCloseTo(expected[at] ?? 0, 12);
  expect(zipfTenants({ tenants: 3, chunks: 1_100 }).all.map(({ chunks }) => chunks)).toEqual([600, 300, 200]);
});

test("a tenant is chosen as often as its share says", () => {
  expect([0, 0.49, 0.5, 0.79, 0.8, 0.999].map((fraction) => placeOf(fraction, [0.5, 0.3, 0.2]))).toEqual([
    0, 0, 1, 1, 2, 2,
  ]);
  expect(placeOf(0.9999, [0.3, 0.3])).toBe(1);
  const { all, choose } = zipfTenants({ tenants: 2, chunks: 30 });
  expect(all).toContain(choose(new SeededRandom(1)));
});

test("a hit is a tenant's own by its id and by its text", () => {
  const { all, vectorOf } = zipfTenants({ tenants: 12, chunks: 1_000 });
  const [first, second] = all;
  const text = (tenant = first) => tenant?.vectors.text(7) ?? "";

  expect(first?.owns({ id: "tenant-1/7", text: text() })).toBe(true);
  expect(first?.owns({ id: "tenant-2/7", text: text() })).toBe(false);
  expect(first?.owns({ id: "tenant-11/7", text: text() })).toBe(false);
  expect(first?.owns({ id: "tenant-1/7", text: text(second) })).toBe(false);
  expect(first?.owns({ id: "tenant-1/7" })).toBe(false);
  expect(vectorOf(text(second))).toEqual(second?.vectors.chunk(7));
});
