import { expect, test } from "vitest";
import { someAtATime } from "../../src/load/some-at-a-time.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("no more run at the same time than there are places, and each is begun in the items' order", async () => {
  const begun: string[] = [];
  const gates = new Map(["a", "b", "c", "d"].map((item) => [item, Promise.withResolvers<void>()]));
  const all = someAtATime([...gates.keys()], 2, async (item, index) => {
    begun.push(`${index}${item}`);
    await gates.get(item)?.promise;
  });
  await settled();
  expect(begun).toEqual(["0a", "1b"]);

  gates.get("b")?.resolve();
  await settled();
  expect(begun).toEqual(["0a", "1b", "2c"]);

  for (const { resolve } of gates.values()) resolve();
  await all;
  expect(begun).toEqual(["0a", "1b", "2c", "3d"]);
});

test("once one has failed no other is begun, and its error is the answer", async () => {
  const begun: string[] = [];
  const slow = Promise.withResolvers<void>();
  const all = someAtATime(["slow", "bad", "next", "last"], 2, async (item) => {
    begun.push(item);
    if (item === "bad") throw new Error("broken");
    await slow.promise;
  });

  await expect(all).rejects.toThrow("broken");
  slow.resolve();
  await settled();
  expect(begun).toEqual(["slow", "bad"]);
});
