import { expect, test } from "vitest";
import { FairTurns, type TurnOptions, type WaitingLimits } from "../../src/load/fair-turns.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";

const busy = () => backendUnavailable({ retryable: true, retryAfterMs: 7, detail: "busy" });
const BUSY = { code: -32010, data: { retryable: true, retryAfterMs: 7 } };
const open = () => new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Asks in a party's name; `order` has the names in the order of their turns, and `end` ends a name's oldest turn. */
function turnsOf({
  waiting,
  ...options
}: Partial<Omit<TurnOptions, "waiting">> & { readonly waiting?: Partial<WaitingLimits> }) {
  const turns = new FairTurns({ places: 1, waiting: { busy, ...waiting }, ...options });
  const order: string[] = [];
  const held: [string, () => void][] = [];
  const ask = async (name: string, signal = open()) => {
    const leave = await turns.enter(signal, name);
    order.push(name);
    held.push([name, leave]);
  };
  const end = async (name: string) => {
    const place = held.findIndex(([holder]) => holder === name);
    held.splice(place, 1)[0]?.[1]();
    await settled();
  };
  return { turns, order, ask, end };
}

test("one who comes after a thousand of another waits for two turns at most", async () => {
  const { order, ask, end } = turnsOf({});
  for (let i = 0; i < 1_000; i++) void ask("flood");
  void ask("neighbour");
  await settled();
  await end("flood");
  await end("flood");
  expect(order).toEqual(["flood", "flood", "neighbour"]);
});

test("a place that is free goes to the party that holds fewest", async () => {
  const { order, ask, end } = turnsOf({ places: 4 });
  for (let i = 0; i < 5; i++) void ask("flood");
  for (let i = 0; i < 3; i++) void ask("neighbour");
  await settled();
  for (let i = 0; i < 2; i++) await end("flood");
  expect(order).toEqual(["flood", "flood", "flood", "flood", "neighbour", "neighbour"]);
});

test("a party holds no more than its share, even where places are free, and the server itself may", async () => {
  const { turns, order, ask, end } = turnsOf({ places: 3, placesPerParty: 2 });
  for (let i = 0; i < 3; i++) void ask("flood");
  await settled();
  expect(order).toEqual(["flood", "flood"]);
  const leave = await turns.enter(open(), undefined);
  leave();
  void ask("neighbour");
  await settled();
  expect(order).toEqual(["flood", "flood", "neighbour"]);
  await end("flood");
  expect(order).toEqual(["flood", "flood", "neighbour", "flood"]);
});

test("who gives up leaves the queue: aborted at once, too late after waitMs, and the place is not lost", async () => {
  const { turns, order, ask, end } = turnsOf({ waiting: { ms: 20 } });
  await ask("a");
  const controller = new AbortController();
  const gone = turns.enter(controller.signal, "b");
  const late = turns.enter(open(), "c");
  const patient = turns.enter(open(), "d", true);
  controller.abort("gone");
  await expect(gone).rejects.toBe("gone");
  await expect(late).rejects.toMatchObject(BUSY);
  await end("a");
  (await patient)();
  await ask("e");
  expect(order).toEqual(["a", "e"]);
});

test("a signal that aborts once the turn has come does not lose it", async () => {
  const { turns } = turnsOf({});
  const first = await turns.enter(open(), "a");
  const controller = new AbortController();
  const second = turns.enter(controller.signal, "b");
  first();
  controller.abort();
  (await second)();
  await turns.enter(open(), "c");
});

test("so many may wait, of one party and of all; one more is refused at once", async () => {
  const { turns, ask, end, order } = turnsOf({ waiting: { max: 3, maxPerParty: 2 } });
  await ask("a");
  for (let i = 0; i < 2; i++) void ask("a");
  await expect(turns.enter(open(), "a")).rejects.toMatchObject(BUSY);
  void ask("b");
  await expect(turns.enter(open(), "c")).rejects.toMatchObject(BUSY);
  for (const name of ["a", "a", "b", "a"]) await end(name);
  expect(order).toEqual(["a", "a", "b", "a"]);
});

test("work that fails gives its place back", async () => {
  const { turns } = turnsOf({});
  const failing = async () => {
    throw new Error("no");
  };
  await expect(turns.run(failing, open(), "a")).rejects.toThrow("no");
  expect(await turns.run(async () => "done", open(), "a")).toBe("done");
});
