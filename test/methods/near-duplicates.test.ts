import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";
import { testReranker } from "../support/test-models.ts";

/** At most two hits of a group of near-duplicates, whatever is asked for, and the others behind them. */

const FIELDS = { n: "int", at: "date" } as const;
const filter = { fields: FIELDS };

/** A passage of 43 words, one of them of its own. */
const copy = (own: string) =>
  `Kidneys are sold here at prices that no other shop in town can offer and every buyer who calls before noon is given ${own} for nothing while stocks last so do not wait and ask for our kidneys today because tomorrow they may be gone`;
const honest = (n: number) =>
  Array.from({ length: 40 }, (_, place) => (place === 0 ? "kidneys" : `fact${n}of${place}`)).join(" ");
const day = (n: number) => new Date(Date.UTC(2024, 0, 1 + (n % 28))).toISOString();
const FLOOD = 500;
const HONEST = 20;
const QUERY = "kidneys shop prices";

let opened: TestDatabase;
let tenant: ReturnType<typeof freshTenant>;
const as = (retrieval: object = {}): Caller =>
  callerOf(opened.database, tenant, { config: { filter, retrieval }, reranker: testReranker() });
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(FIELDS) });
  tenant = freshTenant();
  await as().add(Array.from({ length: HONEST }, (_, n) => ({ id: `h${n}`, text: honest(n), meta: { n, at: day(n) } })));
  for (let from = 0; from < FLOOD; from += 100)
    await as().add(
      Array.from({ length: 100 }, (_, n) => {
        const no = from + n;
        return { id: `f${no}`, text: copy(`word${no}`), meta: { n: no, at: day(no) } };
      }),
    );
});
afterAll(() => opened.close());

const copiesIn = (ids: readonly string[]) => ids.filter((id) => id.startsWith("f")).length;

const OPTIONS = [
  {},
  { unit: "document" },
  { mmr: { lambda: 0.5 } },
  { recency: { field: "at", halfLifeDays: 7 } },
  { rerank: { topN: 50 } },
  { filter: { field: "n", op: "lt", value: 300 } },
  { seed: 7, includeVectors: true },
  { tokenBudget: 100_000 },
];

describe.each(["dense", "sparse", "hybrid"])("a flood of 500 in %s", (mode) => {
  test.each(OPTIONS)("has 2 of all 22 hits with %o, and the others are there", async (option) => {
    const { hits, usage } = await as().retrieve({ query: QUERY, mode, k: 50, candidateK: 50, ...option });
    const ids = hits.map(({ id }) => id);
    expect([ids.length, copiesIn(ids)]).toEqual([HONEST + 2, 2]);
    expect(usage.notes).toEqual(["near-duplicates of some hits were left out"]);
  });

  test("fills the answer where copies are not counted", async () => {
    const ids = await as({ maxNearDuplicates: 0 }).ids({ query: QUERY, mode });
    expect(copiesIn(ids)).toBe(10);
  });

  test("is passed over when it is larger than every bound on candidates", async () => {
    const ids = await as({ maxK: 25, maxCandidateK: 25, defaultCandidateK: 25 }).ids({ query: QUERY, mode, k: 25 });
    expect([ids.length, copiesIn(ids)]).toEqual([HONEST + 2, 2]);
  });

  test("has 2 hits on all pages together, which are one large page, of a pinned version, too", async () => {
    const question = { query: QUERY, mode, candidateK: 50 };
    const large = await as().retrieve({ ...question, k: 50 });
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await as().retrieve({ ...question, k: 4, ...(cursor !== undefined && { cursor }) });
      pages.push(...page.hits.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const all = large.hits.map(({ id }) => id);
    expect([all.length, copiesIn(all)]).toEqual([HONEST + 2, 2]);
    expect(pages).toEqual(all);
    expect(await as().ids({ ...question, k: 50, indexVersion: large.indexVersion })).toEqual(all);
  });
});

test("an answer that is short after three rounds says so", async () => {
  const caller = callerOf(opened.database, freshTenant(), { config: { filter } });
  /** The word of the query stands between others, so that groups have no two words in a row in common. */
  const flood = (group: string, times: number) =>
    Array.from({ length: 20 }, (_, n) => {
      const words = Array.from({ length: 20 }, (_, place) => `${place < times ? "lava " : ""}${group}${place}`);
      return { id: `${group}${n}`, text: words.join(" ") };
    });
  await caller.add([...flood("a", 8), ...flood("b", 6), ...flood("c", 4), ...flood("d", 2)]);

  const { hits, usage } = await caller.retrieve({ query: "lava", mode: "sparse", k: 10, candidateK: 10 });

  // Ten a, then two a and eight b, then two a, two b and six c.
  expect(hits.map(({ id }) => id.slice(0, 1)).join("")).toBe("aabbcc");
  expect(usage.notes).toEqual(["near-duplicates of some hits were left out; there may be more hits behind them"]);
});

describe("what a trusted source wrote", () => {
  const by = (trustCeiling: "trusted" | "community" | "untrusted", to: ReturnType<typeof freshTenant>) =>
    callerOf(opened.database, to, { config: { filter }, principal: { trustCeiling } });
  const records = Array.from({ length: 30 }, (_, n) => ({ id: `r${n}`, text: copy(`room ${n}`) }));

  test.each([
    ["trusted", 30],
    ["community", 2],
    ["untrusted", 2],
  ] as const)("30 %s records of one template are %i hits", async (level, expected) => {
    const caller = by(level, freshTenant());
    await caller.add(records);
    expect(await caller.ids({ query: QUERY, k: 50 })).toHaveLength(expected);
  });

  test("is two hits where it is the same words", async () => {
    const caller = by("trusted", freshTenant());
    await caller.add(
      Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, text: copy(n % 2 ? "a leaflet" : "A leaflet,") })),
    );
    expect(await caller.ids({ query: QUERY, k: 50 })).toHaveLength(2);
  });

  test("loses its place to no copies, not even equal ones that stand before it", async () => {
    const both = freshTenant();
    await by("untrusted", both).add(Array.from({ length: 9 }, (_, n) => ({ id: `copy${n}`, text: copy("a leaflet") })));
    await by("trusted", both).add([{ id: "original", text: copy("a leaflet") }]);
    expect(await by("untrusted", both).ids({ query: QUERY })).toEqual(["copy0", "copy1", "original"]);
  });
});

test("texts that are too short to be compared cost no second look for where the corpus is", async () => {
  const caller = callerOf(opened.database, freshTenant());
  await caller.add(["amber", "basalt", "coral", "dune"].map((word) => ({ id: word, text: `kidneys ${word}` })));
  const forget = vi.spyOn(caller.services.corpora, "forget");

  expect(await caller.ids({ query: "kidneys" })).toHaveLength(4);

  expect(forget).not.toHaveBeenCalled();
});
