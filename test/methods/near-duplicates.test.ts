import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";

/** A passage of 45 words, one of them of its own. */
const copy = (n: number) =>
  `Kidneys are sold here at prices that no other shop in town can offer and every buyer who calls before noon is given word${n} for nothing while stocks last so do not wait and ask for our kidneys today because tomorrow they may be gone`;
const honest = (n: number) =>
  Array.from({ length: 40 }, (_, place) => (place === 0 ? "kidneys" : `fact${n}of${place}`)).join(" ");
const FLOOD = 500;
const HONEST = 20;

let opened: TestDatabase;
let tenant: ReturnType<typeof freshTenant>;
const as = (retrieval: object = {}): Caller =>
  callerOf(opened.database, tenant, { config: { retrieval: { maxNearDuplicates: 3, ...retrieval } } });
beforeAll(async () => {
  opened = await openTestDatabase();
  tenant = freshTenant();
  await as().add(Array.from({ length: HONEST }, (_, n) => ({ id: `h${n}`, text: honest(n) })));
  for (let from = 0; from < FLOOD; from += 100)
    await as().add(Array.from({ length: 100 }, (_, n) => ({ id: `f${from + n}`, text: copy(from + n) })));
});
afterAll(() => opened.close());

const copiesIn = (ids: readonly string[]) => ids.filter((id) => id.startsWith("f")).length;

describe.each(["dense", "sparse", "hybrid"])("a flood of 500 in %s", (mode) => {
  test.each([{}, { mmr: { lambda: 0.5 } }, { unit: "document" }])("takes 3 places of ten with %o", async (option) => {
    const ids = await as().ids({ query: "kidneys shop prices", mode, ...option });
    expect([ids.length, copiesIn(ids)]).toEqual([10, 3]);
  });

  test("fills the answer where copies are not counted", async () => {
    const ids = await as({ maxNearDuplicates: 0 }).ids({ query: "kidneys shop prices", mode });
    expect(copiesIn(ids)).toBe(10);
  });
});

test("recall goes on behind the flood until all honest documents are found", async () => {
  const ids = await as().ids({ query: "kidneys shop prices", k: 50, candidateK: 50 });
  expect([ids.length, copiesIn(ids)]).toEqual([HONEST + 3, 3]);
});

test("where the flood is as large as the bound on candidates, the answer stays short and says why", async () => {
  const { hits, usage } = await as({ maxCandidateK: 100 }).retrieve({ query: "kidneys shop prices", mode: "dense" });
  // 3, and now and then a copy that is a neighbour of no other among so few
  expect(hits.length).toBeGreaterThanOrEqual(3);
  expect(hits.length).toBeLessThan(6);
  expect(usage.notes).toEqual(["near-duplicates were left out; there may be more hits behind them"]);
});

test("pages together are one large page, of a pinned version, too", async () => {
  const question = { query: "kidneys shop prices", candidateK: 50 };
  const large = await as().retrieve({ ...question, k: 50 });
  const pages: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await as().retrieve({ ...question, k: 4, ...(cursor !== undefined && { cursor }) });
    pages.push(...page.hits.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  const all = large.hits.map(({ id }) => id);
  expect(pages).toEqual(all);
  expect(await as().ids({ ...question, k: 50, indexVersion: large.indexVersion })).toEqual(all);
});
