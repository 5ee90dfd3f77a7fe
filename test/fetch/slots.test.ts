import { expect, test } from "vitest";
import { Slots } from "../../src/fetch/slots.ts";

test("a waiter that gives up in the very turn in which its place comes takes nobody else from the queue", async () => {
  const slots = new Slots(1);
  const never = new AbortController().signal;
  const leaving = new AbortController();
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  const work = (name: string) => async () => void order.push(name);

  const running = slots.run(() => first.promise, never);
  const second = slots.run(work("second"), leaving.signal);
  const third = slots.run(work("third"), never);
  first.resolve();
  await first.promise.then(() => {}).then(() => leaving.abort("left"));
  await Promise.allSettled([running, second, third]);

  expect(order).toContain("third");
  expect(await slots.run(async () => "free", never)).toBe("free");
});

test("a waiter that gave up is passed over", async () => {
  const slots = new Slots(1);
  const leaving = new AbortController();
  const first = Promise.withResolvers<void>();
  const running = slots.run(() => first.promise, new AbortController().signal);
  const second = slots.run(async () => "second", leaving.signal);
  const third = slots.run(async () => "third", new AbortController().signal);
  leaving.abort("left");
  await expect(second).rejects.toBe("left");
  first.resolve();
  await running;

  expect(await third).toBe("third");
});
