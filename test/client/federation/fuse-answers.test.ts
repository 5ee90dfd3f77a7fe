import { describe, expect, test } from "vitest";
import {
  type EngineAnswer,
  type EngineHit,
  type FusionRequest,
  fuseAnswers,
} from "../../../src/client/federation/fuse-answers.ts";

const hit = (id: string, rest: Partial<EngineHit> = {}): EngineHit => ({ id, score: 1, ...rest });
const answer = (engine: string, hits: readonly (string | EngineHit)[], rest: Partial<EngineAnswer> = {}) => ({
  ...{ engine, weight: 1, scoreFloor: undefined, ...rest },
  hits: hits.map((one) => (typeof one === "string" ? hit(one) : one)),
});
const fuse = (answers: readonly EngineAnswer[], request: Partial<FusionRequest> = {}) =>
  fuseAnswers(answers, { method: "rrf", rrfK: 60, k: 10, documentKey: (one) => one.id, ...request });
const ids = (fused: ReturnType<typeof fuse>) => fused.hits.map(({ id }) => id);
const scores = (fused: ReturnType<typeof fuse>) => fused.hits.map(({ score }) => score);

describe("§16.3 by reciprocal rank", () => {
  test("what two engines found outranks what one found first", () => {
    const fused = fuse([answer("x", ["a", "b"]), answer("y", ["c", "b"])]);
    expect(ids(fused)).toEqual(["b", "a", "c"]);
    expect(scores(fused)).toEqual([2 / 62, 1 / 61, 1 / 61]);
  });

  test("weights scale an engine's part, and rrfK damps ranks", () => {
    const fused = fuse([answer("x", ["a", "b"]), answer("y", ["c", "b"], { weight: 3 })], { rrfK: 1 });
    expect(ids(fused)).toEqual(["c", "b", "a"]); // 3/2, 1/3 + 3/3, 1/2
    expect(scores(fused)).toEqual([1.5, 1 / 3 + 1, 0.5]);
  });

  test("scores of the engines, which are on scales of their own, move nothing", () => {
    const fused = fuse([answer("x", [hit("a", { score: 0.1 })]), answer("y", [hit("b", { score: 1e300 })])]);
    expect(ids(fused)).toEqual(["a", "b"]);
  });

  test("the result has k documents, of each engine k hits count, and of a repeated one the first", () => {
    const flood = ["a", "a", "a", "b", "c", "d"];
    const fused = fuse([answer("x", flood), answer("y", ["e"])], { k: 4 });
    expect(ids(fused)).toEqual(["a", "e", "b"]);
    expect(scores(fused)).toEqual([1 / 61, 1 / 61, 1 / 64]);
    expect(fuse([answer("x", ["a", "b"]), answer("y", ["c", "d"])], { k: 2 })).toMatchObject({
      hits: [{ id: "a" }, { id: "c" }],
      candidates: 4,
    });
  });
});

describe("§16.3 ties", () => {
  test("the same ranks in other engines are the same score to the last bit, and go to the smaller id", () => {
    // 1/61 + 1/62 + 1/67 each, which is another number when the summands are added in another order.
    const list = (engine: string, first: string, second: string, seventh: string) =>
      answer(engine, [first, second, ...[3, 4, 5, 6].map((rank) => `${engine}${rank}`), seventh]);
    const fused = fuse([list("x", "c", "b", "a"), list("y", "a", "c", "b"), list("z", "b", "a", "c")]);
    expect(ids(fused).slice(0, 3)).toEqual(["a", "b", "c"]);
    expect(new Set(scores(fused).slice(0, 3)).size).toBe(1);
  });

  test("the larger summed weight goes before the smaller id", () => {
    // With rrfK 0: z = 2/1, y = 2/2 with weight 2, a = 1/1 with weight 1.
    const fused = fuse([answer("x", ["a"]), answer("y", ["z", "y"], { weight: 2 })], { rrfK: 0 });
    expect(ids(fused)).toEqual(["z", "y", "a"]);
  });

  test("ids are in UTF-8 order, which above U+FFFF is not that of UTF-16", () => {
    const fused = fuse([answer("x", ["\u{1f600}"]), answer("y", ["\uff5e"])]);
    expect(ids(fused)).toEqual(["\uff5e", "\u{1f600}"]);
  });
});

describe("§16.3 convex", () => {
  const dense = answer("d", [hit("a", { score: 0.5 }), hit("b", { score: -0.25 })], { scoreFloor: -1 });
  const lexical = answer("l", [hit("b", { score: 10 }), hit("c", { score: 5 })], { scoreFloor: 0, weight: 3 });

  test("norms run from the floor to the best score, and weights sum to 1", () => {
    const fused = fuse([dense, lexical], { method: "convex" });
    expect(fused.method).toBe("convex");
    // a: 1/4 · 1.5/1.5; b: 1/4 · 0.75/1.5 + 3/4 · 10/10; c: 3/4 · 5/10
    expect(ids(fused)).toEqual(["b", "c", "a"]);
    expect(scores(fused)).toEqual([0.875, 0.375, 0.25]);
  });

  test("a list that has nothing above its floor gives nothing", () => {
    const poor = answer("l", [hit("c", { score: 0 })], { scoreFloor: 0 });
    expect(scores(fuse([dense, poor], { method: "convex" }))).toEqual([0.5, 0.25, 0]);
  });

  test.each([
    ["one engine names no floor", answer("l", ["c"])],
    ["a score is below the floor", answer("l", [hit("c", { score: -0.1 })], { scoreFloor: 0 })],
    ["a score has no end", answer("l", [hit("c", { score: Infinity })], { scoreFloor: 0 })],
  ])("it is done by rank where %s", (_, other) => {
    const fused = fuse([dense, other], { method: "convex" });
    expect(fused.method).toBe("rrf");
    expect(scores(fused)).toEqual([1 / 61, 1 / 61, 1 / 62]);
  });
});

describe("§16.3 one document of several engines", () => {
  const short = hit("a", { score: 0.9, text: "short", meta: { lang: "en", engine: "forged", year: 2020 } });
  const long = hit("a", {
    ...{
      score: 12,
      text: "much longer",
      meta: { lang: "de" },
      trust: { level: "untrusted", injectionSuspected: false },
    },
    citation: { source: "web", start: 0, end: 11 },
  });

  test("has the richest body with its citation and trust, the meta of all, and its place in each list", () => {
    const { hits } = fuse([answer("x", ["z", short]), answer("y", [long])]);
    expect(hits[0]).toEqual({
      ...long,
      score: 1 / 62 + 1 / 61,
      meta: {
        ...{ lang: "de", year: 2020, engine: "y", engineRank: 1, engineScore: 12 },
        engines: [
          { engine: "x", rank: 2, score: 0.9 },
          { engine: "y", rank: 1, score: 12 },
        ],
      },
    });
  });

  test("of equally rich bodies has that with more blocks, then that of the engine named first", () => {
    const blocks = { ...short, content: [{ type: "text" }] };
    const origin = (...answers: EngineAnswer[]) => fuse(answers).hits[0]?.meta.engine;
    expect(origin(answer("x", [short]), answer("y", [blocks]))).toBe("y");
    expect(origin(answer("x", [short]), answer("y", [short]))).toBe("x");
  });

  test("has what meta its richest hit lacks from the engine named first", () => {
    const others = [1, 2].map((year) => answer(`e${year}`, [hit("a", { meta: { year } })]));
    expect(fuse([...others, answer("y", [long])]).hits[0]?.meta).toMatchObject({ engine: "y", lang: "de", year: 1 });
  });

  test("stays suspected when one engine suspects it, whoever has the richest body", () => {
    const suspected = hit("a", { trust: { level: "trusted", injectionSuspected: true } });
    const trustOf = (other: EngineHit) => fuse([answer("x", [suspected]), answer("y", [other])]).hits[0]?.trust;
    expect(trustOf(long)).toEqual({ level: "untrusted", injectionSuspected: true });
    expect(trustOf(hit("a", { text: "more" }))).toEqual({ level: "untrusted", injectionSuspected: true });
  });

  test("is what the caller's key says", () => {
    const documentKey = (one: EngineHit, engine: string) => `${engine}/${one.id}`;
    expect(ids(fuse([answer("x", ["a"]), answer("y", ["a"])], { documentKey }))).toEqual(["a", "a"]);
  });
});
