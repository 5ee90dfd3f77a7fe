import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";
import { place } from "../support/placing.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

/** A corpus with a graph: its nearest chunks are found as exact search finds them. */

const FIELDS = { n: "int" } as const;
const DIMENSION = 48;
const CENTRES = 60;
const CHUNKS = 5_000;
/** At 5,000 chunks, exact where at most 600 pass a filter. */
const config = {
  filter: { fields: FIELDS },
  retrieval: { ownPartitionFrom: 1_000, graph: { exactUpTo: 600 } },
};

/** `<centre> <seed>` is a point near that centre; `far <seed>` one in any direction; `<one>, <other>` the point halfway. */
function pointOf(text: string): Float32Array {
  const [one = "", other] = text.split(", ");
  if (other !== undefined) {
    const end = pointOf(other);
    return pointOf(one).map((x, at) => (x + (end[at] ?? 0)) / 2);
  }
  const [name = "", seed = "0"] = text.split(" ");
  const centre = new SeededRandom(name === "far" ? Number(seed) : Number(name) + 1_000_000);
  const noise = new SeededRandom(Number(seed) + 2_000_000);
  const spread = name === "far" ? 0 : 0.5;
  const point = Array.from({ length: DIMENSION }, () => centre.fraction() - 0.5 + spread * (noise.fraction() - 0.5));
  const length = Math.hypot(...point);
  return Float32Array.from(point, (x) => x / length);
}

const embedding: EmbeddingModel = {
  space: { identity: `test-clusters@${DIMENSION}`, dimension: DIMENSION },
  maxTokens: 256,
  isRepeatable: true,
  countTokens: async (texts) => texts.map(() => 4),
  embed: async (texts) => texts.map(pointOf),
  isReady: () => true,
  close: async () => {},
};

describe.runIf(process.env.PGRCP_TEST_DATABASE_URL !== undefined)("a corpus with a graph", { timeout: 180_000 }, () => {
  const random = new SeededRandom(testSeed());
  let opened: TestDatabase;
  let caller: Caller;
  const textOf = (seed: number) => `${random.integer(0, CENTRES - 1)} ${seed}`;
  beforeAll(async () => {
    opened = await openTestDatabase({ fields: filterFields(FIELDS) });
    const tenantId = freshTenant();
    const writer = callerOf(opened.database, tenantId, { config, embedding });
    for (let from = 0; from < CHUNKS; from += 100)
      await writer.add(
        Array.from({ length: 100 }, (_, index) => ({
          id: `d${from + index}`,
          text: textOf(from + index),
          meta: { n: (from + index) % 1_000 },
        })),
      );
    await place(opened, { settings: { ownPartitionFrom: 1_000 } });
    caller = callerOf(opened.database, tenantId, { config, embedding });
  }, 300_000);
  afterAll(() => opened.close());

  const below = (n: number) => ({ filter: { field: "n", op: "lt", value: n } });
  const near = () => textOf(random.integer(1_000_000, 2_000_000));
  const far = () => `far ${random.integer(0, 1_000_000)}`;

  /** The share of the ten nearest that were found, and what was said of how; a seed asks for exact search. */
  async function compare(params: object, queryOf: () => string, times = 25) {
    const ways = new Map<string, number>();
    let found = 0;
    let wanted = 0;
    for (let asked = 0; asked < times; asked += 1) {
      const question = { mode: "dense", k: 10, query: queryOf(), ...params };
      const { hits, usage } = await caller.retrieve(question);
      const exact = await caller.retrieve({ ...question, seed: 1 });
      const { search } = usage.strategy.dense as { search: string };
      ways.set(search, (ways.get(search) ?? 0) + 1);
      expect(exact.usage.strategy.dense).toMatchObject({ search: "exact" });
      expect(hits).toHaveLength(exact.hits.length);
      const ids = new Set(hits.map(({ id }) => id));
      found += exact.hits.filter(({ id }) => ids.has(id)).length;
      wanted += exact.hits.length;
    }
    return { recall: found / wanted, ways: Object.fromEntries(ways) };
  }

  test.each([
    ["without a filter", {}],
    ["where half pass", below(500)],
    ["where 15 % pass", below(150)],
  ])("%s, the graph finds 99 of 100 nearest chunks", async (_, params) => {
    const { recall, ways } = await compare(params, near);

    expect(recall).toBeGreaterThanOrEqual(0.99);
    expect(ways.graph).toBeGreaterThan(10);
  });

  test.each([
    ["5 %", below(50), 10],
    ["0.5 %", below(5), 10],
    ["so few pass that there are fewer than asked for", below(1), 5],
  ])("where %s, every chunk that passes is looked at", async (_, params, hits) => {
    expect(await compare(params, near)).toEqual({ recall: 1, ways: { exact: 25 } });
    expect(await caller.hits({ mode: "dense", query: "3 3", ...params })).toHaveLength(hits);
  });

  const between = () => `${near()}, ${near()}`;

  // Walks that are believed as they come find .96 to .988 of these.
  test.each([
    ["far from every chunk", far, {}],
    ["far from every chunk, of which half pass", far, below(500)],
    ["far from every chunk, where one candidate is asked for", far, { k: 1, candidateK: 1 }],
    ["halfway between two clusters, of which a walk may see one", between, {}],
    ["halfway between two clusters, where half pass", between, below(500)],
  ])("for queries %s, 98.5 of 100 are found", async (_, queryOf, params) => {
    expect((await compare(params, queryOf, 100)).recall).toBeGreaterThanOrEqual(0.985);
  });

  test("a pinned version is read exactly, and says so", async () => {
    const { indexVersion } = await caller.retrieve({ query: "3 3", mode: "dense" });
    const pinned = await caller.retrieve({ query: "3 3", mode: "dense", indexVersion });

    expect(pinned.usage.strategy.dense).toEqual({ search: "exact", why: "a version is read exactly as it was" });
  });

  test("what was replaced and deleted since the graph was built is as it is now", async () => {
    const gone = Array.from({ length: 500 }, (_, index) => `d${index}`);
    await caller.delete(gone);
    await caller.add(
      Array.from({ length: 100 }, (_, index) => ({
        id: `d${1_000 + index}`,
        text: `7 ${3_000_000 + index}`,
        meta: { n: 1 },
      })),
    );

    const { recall, ways } = await compare({}, near);

    expect(recall).toBeGreaterThanOrEqual(0.99);
    expect(ways.graph).toBeGreaterThan(10);
    const ids = await caller.ids({ query: "7 3000003", mode: "dense", k: 100 });
    expect(ids[0]).toBe("d1003");
    expect(ids.filter((id) => gone.includes(id))).toEqual([]);
  });

  /** @param between runs before each page but the first */
  async function pagesOf(question: object, between: () => Promise<unknown> = async () => {}) {
    const pages = [await caller.retrieve(question)];
    for (let cursor = pages[0]?.nextCursor; cursor !== undefined; cursor = pages.at(-1)?.nextCursor) {
      await between();
      pages.push(await caller.retrieve({ ...question, cursor }));
    }
    return {
      ids: pages.flatMap(({ hits }) => hits.map(({ id }) => id)),
      ways: pages.map(({ usage }) => (usage.strategy.dense as { search: string }).search),
    };
  }

  /** The first of some questions near a centre that the graph is believed about. */
  async function askedByGraph(params: object) {
    for (let asked = 0; asked < 100; asked += 1) {
      const question = { query: near(), ...params };
      const { usage } = await caller.retrieve(question);
      if ((usage.strategy.dense as { search: string }).search === "graph") return question;
    }
    throw new Error("the graph is believed about no question");
  }

  test("the pages of a list that the graph found have its hits, each once", async () => {
    const question = await askedByGraph({ mode: "dense", candidateK: 60, k: 20 });
    const exact = await caller.retrieve({ ...question, k: 60, seed: 1 });
    const { ids, ways } = await pagesOf(question);

    expect(ways[0]).toBe("graph");
    expect(new Set(ids)).toHaveLength(60);
    const nearest = new Set(exact.hits.map(({ id }) => id));
    expect(ids.filter((id) => nearest.has(id)).length).toBeGreaterThan(50);
  });

  test("pages of a version that is not the newest any more are found exactly, without what was shown by the graph", async () => {
    const question = await askedByGraph({ mode: "dense", k: 20 });
    const large = await caller.retrieve({ ...question, k: 100, seed: 1 });
    let written = 0;
    const { ids, ways } = await pagesOf(question, () =>
      caller.add([{ id: `later${written++}`, text: question.query, meta: { n: 1 } }]),
    );

    expect(ways).toEqual(["graph", "exact", "exact", "exact", "exact"]);
    const shown = ids.slice(0, 20);
    const others = large.hits.map(({ id }) => id).filter((id) => !shown.includes(id));
    expect(ids.slice(20)).toEqual(others);
  });

  test("both lists of a hybrid retrieve hold together", async () => {
    const question = await askedByGraph({ k: 10 });
    const { hits, usage } = await caller.retrieve(question);
    const exact = await caller.retrieve({ ...question, seed: 1 });

    expect(usage.strategy).toMatchObject({ mode: "hybrid", dense: { search: "graph" } });
    const nearest = new Set(exact.hits.map(({ id }) => id));
    expect(hits.filter(({ id }) => nearest.has(id)).length).toBeGreaterThanOrEqual(9);
  });
});
