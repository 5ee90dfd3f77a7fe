import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { runningModel } from "../../src/maintenance/configured-model.ts";
import { explainRetrieve } from "../../src/maintenance/explain-retrieve.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { fill, place } from "../support/placing.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const settings = {
  filter: { fields: { year: "int" } },
  retrieval: { ownPartitionFrom: 300, graph: { exactUpTo: 100 } },
} as const;
const config = configSchema.parse(settings);
const model = runningModel(testEmbeddingModel());

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(settings.filter.fields) });
});
afterAll(() => opened.close());

async function filled(count: number) {
  const tenant = freshTenant();
  await fill(callerOf(opened.database, tenant, { config: settings }), new SeededRandom(testSeed()), count);
  return (filter?: object) =>
    explainRetrieve(opened.operator, config, { tenant, corpus: "default", query: "amber coral", filter }, model);
}

test("a corpus without a graph is searched exactly, and the plan shows no vector", async () => {
  const explain = await filled(20);

  const { path, statements } = await explain();

  expect(path).toEqual({ search: "exact", why: "the corpus has no graph" });
  expect(statements).toHaveLength(1);
  expect(statements[0]?.sql).toMatch(
    /from \(select chunk_no, doc_id, .*, \(embedding <=> \$2::halfvec\) \+ 0 as distance from pgrcp\.chunks/,
  );
  const plan = statements[0]?.plan.join("\n");
  expect(plan).toContain("actual time=");
  expect(plan).toContain("<=> '[…]'");
});

test("a filter that no caller could send is refused", async () => {
  const explain = await filled(1);

  await expect(explain({ field: "month", op: "eq", value: 1 })).rejects.toMatchObject({
    name: "Refusal",
    message: expect.stringMatching(/^filter/),
  });
});

test("an unknown corpus is refused", async () => {
  const asked = { tenant: freshTenant(), corpus: "default", query: "amber" };

  await expect(explainRetrieve(opened.operator, config, asked, model)).rejects.toMatchObject({ name: "Refusal" });
});

describe.runIf(process.env.PGRCP_TEST_DATABASE_URL !== undefined)("a corpus with a graph", () => {
  test("is searched by a walk through it, or exactly where few chunks pass", async () => {
    const explain = await filled(400);
    await place(opened);

    const open = await explain();
    const half = await explain({ field: "year", op: "gte", value: 2005 });
    const few = await explain({ field: "year", op: "eq", value: 2005 });

    expect(open.path).toEqual({
      search: "graph",
      efSearch: 100,
      isIterative: false,
      why: "the corpus has 400 chunks",
    });
    expect(open.statements).toHaveLength(1);
    for (const { plan } of [...open.statements, ...half.statements])
      expect(plan.join("\n")).toMatch(/Index Scan using chunks_p_\w+_graph/);
    expect(half.path).toMatchObject({ search: "graph" });
    // 400 documents of ten years.
    expect(few.path).toMatchObject({ search: "exact", why: expect.stringMatching(/^about (3\d|4\d) of 400 chunks/) });
    expect(few.statements[0]?.plan.join("\n")).toMatch(/Scan (using|on) chunks_p_\w+_f_year_idx/);
  });
});
