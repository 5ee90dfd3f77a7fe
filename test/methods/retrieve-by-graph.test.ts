import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { place } from "../support/placing.ts";

/** What a graph leads to is no longer there until a vacuum has been: Postgres alone has graphs. */
describe.runIf(process.env.PGRCP_TEST_DATABASE_URL !== undefined)("a corpus whose nearest chunks were deleted", () => {
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase();
  });
  afterAll(() => opened.close());

  /** As many words as a chunk has, at most. */
  const COUNT = 120;
  /** The higher the number, the further from "amber", in one direction. */
  const text = (number: number) => `${"amber ".repeat(COUNT - number)}${"coral ".repeat(number)}`;
  const documents = Array.from({ length: COUNT }, (_, number) => ({ id: `d${number}`, text: text(number) }));

  test("is searched by a walk that goes on past them, and exactly where too few are left to trust it", async () => {
    const tenant = freshTenant();
    const config = { retrieval: { ownPartitionFrom: 50, maxNearDuplicates: 0 } };
    const writer = callerOf(opened.database, tenant, { config });
    for (const half of [documents.slice(0, COUNT / 2), documents.slice(COUNT / 2)]) await writer.add(half);
    await place(opened, { settings: { ownPartitionFrom: 50 } });
    const reader = callerOf(opened.database, tenant, { config }); // who has not seen it elsewhere
    const search = async () => {
      const { hits, usage } = await reader.retrieve({ query: "amber", mode: "dense", k: 10 });
      return { ids: hits.map(({ id }) => id), how: usage?.strategy?.dense };
    };
    const remove = (from: number, to: number) => writer.delete(documents.slice(from, to).map(({ id }) => id));
    const idsFrom = (first: number) => documents.slice(first, first + 10).map(({ id }) => id);

    expect(await search()).toMatchObject({ ids: idsFrom(0), how: { search: "graph" } });

    // Of the hundred candidates that a walk keeps, five are left.
    await remove(0, 95);
    expect(await search()).toMatchObject({ ids: idsFrom(95), how: { search: "graph" } });

    await remove(95, COUNT - 10);
    expect(await search()).toMatchObject({ ids: idsFrom(COUNT - 10), how: { search: "exact" } });
  });
});
