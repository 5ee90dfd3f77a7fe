import { describe, expect, test } from "vitest";
import type { EngineHit } from "../../../src/client/federation/engine-hit.ts";
import { type EngineList, fuseLists, fusionFor } from "../../../src/client/federation/fuse.ts";
import { readRegistry } from "../../../src/client/federation/index.ts";

const hit = (id: string, score = 1, more: Partial<EngineHit> = {}): EngineHit => ({ id, score, meta: {}, ...more });
const list = (engine: string, hits: readonly EngineHit[], more: Partial<EngineList> = {}): EngineList => ({
  ...{ engine, weight: 1, hits, scoreFloor: undefined },
  ...more,
});
const ids = (lists: readonly EngineList[], fusion: "rrf" | "convex" = "rrf") =>
  fuseLists(lists, fusion).map(({ id }) => id);

describe("RRF", () => {
  test("adds up weight over 60 and the rank, so that what two engines found comes first", () => {
    const [first, second] = fuseLists(
      [list("a", [hit("x"), hit("y")]), list("b", [hit("z"), hit("y")], { weight: 2 })],
      "rrf",
    );
    expect([first?.id, second?.id]).toEqual(["y", "z"]);
    expect(first?.score).toBeCloseTo(1 / 62 + 2 / 62, 12);
    expect(second?.score).toBeCloseTo(2 / 61, 12);
  });

  test("breaks ties by summed weight, then by the smaller id, whichever engine answered first", () => {
    // p: 1/61 + 1/61 with weights 1 and 1; q: 2/61 with weight 2, so that scores and weights tie; o and r: 1/61 each
    const lists = [
      list("a", [hit("p")]),
      list("b", [hit("p")]),
      list("c", [hit("q")], { weight: 2 }),
      list("d", [hit("r")]),
      list("e", [hit("o")]),
    ];
    expect(ids(lists)).toEqual(["p", "q", "o", "r"]);
    expect(ids(lists.toReversed())).toEqual(["p", "q", "o", "r"]);
    // 2/122 is as much as 1/61, and of more weight
    expect(ids([list("a", [hit("a")]), list("b", [...fill(61), hit("z")], { weight: 2 })]).slice(0, 64)).toContain("z");
    const tie = ids([list("a", [hit("a")]), list("b", [...fill(61), hit("z")], { weight: 2 })]);
    expect(tie.indexOf("z")).toBe(tie.indexOf("a") - 1);
  });

  test("counts a document that an engine names twice once, by its better rank", () => {
    const [only] = fuseLists([list("a", [hit("x"), hit("x")])], "rrf");
    expect(only?.score).toBeCloseTo(1 / 61, 12);
  });

  const fill = (count: number) => Array.from({ length: count }, (_, n) => hit(`f${String(n).padStart(3, "0")}`));
});

describe("convex", () => {
  test("measures scores from each engine's floor to its best, by weight", () => {
    const cosine = list("a", [hit("x", 0.8), hit("y", 0.35)], { scoreFloor: -1, weight: 3 });
    const bm25 = list("b", [hit("y", 8), hit("x", 4)], { scoreFloor: 0, weight: 1 });
    const fused = fuseLists([cosine, bm25], "convex");
    // x: 3/4 · 1 + 1/4 · 4/8; y: 3/4 · 1.35/1.8 + 1/4 · 1
    expect(fused.map(({ id, score }) => [id, Math.round(score * 1e6)])).toEqual([
      ["x", 875_000],
      ["y", 812_500],
    ]);
  });

  test("gives nothing for scores at the floor or below it", () => {
    const [first, second] = fuseLists([list("a", [hit("x", 0), hit("y", -5)], { scoreFloor: 0 })], "convex");
    expect([first?.score, second?.score]).toEqual([0, 0]);
  });

  test("is what is done only where every engine has a floor", () => {
    const [with1, with2] = [list("a", [], { scoreFloor: 0 }), list("b", [], { scoreFloor: -1 })];
    expect(fusionFor("convex", [with1, with2])).toBe("convex");
    expect(fusionFor("convex", [with1, list("c", [])])).toBe("rrf");
    expect(fusionFor("rrf", [with1, with2])).toBe("rrf");
  });
});

test("of several bodies the longest is shown, with its own trust, over the meta of the others", () => {
  const short = hit("x", 5, { text: "short", meta: { a: 1, b: 1, engine: "spoof" }, trust: { level: "trusted" } });
  const long = hit("x", 7, { text: "a longer text", meta: { b: 2 }, trust: { level: "untrusted" } });
  expect(fuseLists([list("one", [short]), list("two", [hit("y"), long])], "rrf")[0]).toMatchObject({
    text: "a longer text",
    trust: { level: "untrusted" },
    meta: { a: 1, b: 2, engine: "two", engineRank: 2, engineScore: 7 },
  });
});

test("hits of one id are two documents where a key says so", () => {
  const lists = [list("a", [hit("1")]), list("b", [hit("1")])];
  const documentKey = ({ id }: EngineHit, engine: string) => `${engine}/${id}`;
  expect(fuseLists(lists, "rrf").map(({ meta }) => meta.engine)).toEqual(["a"]);
  expect(fuseLists(lists, "rrf", { documentKey }).map(({ meta }) => meta.engine)).toEqual(["a", "b"]);
});

describe("a registry", () => {
  test("is read as RCP §16.1 has it, and unknown members are passed over", () => {
    const entry = { id: "web", transport: "http", url: "http://127.0.0.1:8000/rcp" };
    expect(readRegistry({ engines: [{ ...entry, weight: 2, required: true, note: "x" }], more: 1 })).toEqual([
      { id: "web", url: "http://127.0.0.1:8000/rcp", weight: 2, required: true },
    ]);
    expect(readRegistry({ engines: [entry] })).toEqual([{ id: "web", url: "http://127.0.0.1:8000/rcp" }]);
  });

  const good = { id: "a", transport: "http", url: "https://h/rcp" };
  test.each([
    ["no object", []],
    ["no list", { engines: {} }],
    ["an engine that is none", { engines: ["a"] }],
    ["no id", { engines: [{ ...good, id: "" }] }],
    ["a process", { engines: [{ ...good, transport: "stdio" }] }],
    ["no url", { engines: [{ ...good, url: 1 }] }],
    ["a weight of nothing", { engines: [{ ...good, weight: 0 }] }],
    ["a weight as text", { engines: [{ ...good, weight: "2" }] }],
    ["a required that is neither", { engines: [{ ...good, required: "yes" }] }],
    ["one id twice", { engines: [good, good] }],
  ])("with %s is refused", (_name, registry) => {
    expect(() => readRegistry(registry)).toThrow(TypeError);
  });
});
