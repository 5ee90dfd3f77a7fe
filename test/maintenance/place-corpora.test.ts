import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addColumn } from "../../src/db/filter-columns.ts";
import { migrate } from "../../src/db/migrator.ts";
import { examine } from "../../src/db/self-test.ts";
import type { PlacingEvent } from "../../src/maintenance/place-corpora.ts";
import { columnValue } from "../../src/plan/check-meta.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import type { CorpusKey } from "../../src/sql/documents.ts";
import { identifier, sql } from "../../src/sql/sql.ts";
import { limits, rows, run } from "../db/rows.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";
import { chunksBy, fill, ownPartitions, place, placeOf, questions } from "../support/placing.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

/** Large corpora get a partition and a graph of their own. The embedded database has neither. */

const FIELDS = { year: "int" } as const;
const config = { filter: { fields: FIELDS } };
const answersOf = async (caller: Caller, asked: readonly object[]) => {
  const answers = [];
  for (const question of asked) answers.push(await caller.hits(question));
  return answers;
};

describe.runIf(process.env.PGRCP_TEST_DATABASE_URL !== undefined)("on Postgres", { timeout: 120_000 }, () => {
  const random = new SeededRandom(testSeed());
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase({ fields: filterFields(FIELDS) });
  });
  afterAll(() => opened.close());

  async function filled(count: number) {
    const tenantId = freshTenant();
    const caller = callerOf(opened.database, tenantId, { config });
    await fill(caller, random, count);
    return { tenantId, caller };
  }

  test("a corpus above the threshold is moved to its own partition and gets a graph; its answers stay the same", async () => {
    const { tenantId, caller } = await filled(350);
    const small = await filled(300);
    const asked = questions(random, 24);
    const before = await answersOf(caller, asked);

    const done = await place(opened);

    expect(done).toMatchObject([
      { tenant: tenantId, corpus: "default", did: "moved to its own partition", chunks: 350 },
      { tenant: tenantId, corpus: "default", did: "built its graph", chunks: 350 },
    ]);
    const now = await placeOf(opened.admin, tenantId);
    expect(now).toMatchObject({ movingFrom: null, graphChunks: 350 });
    expect(await ownPartitions(opened.admin)).toEqual([`chunks_${now?.placement}`]);
    expect(await chunksBy(opened.admin, tenantId)).toEqual({ [now?.placement ?? ""]: 350 });
    expect(await placeOf(opened.admin, small.tenantId)).toMatchObject({ placement: "shared", graphChunks: null });
    expect(await answersOf(caller, asked)).toEqual(before);
    expect(await place(opened)).toEqual([]);
  });

  test("the self-test holds with own partitions, and names one that is not protected", async () => {
    const findings = async () =>
      (await examine(opened.database, filterFields(FIELDS))).flatMap((check) =>
        check.findings.filter(({ severity }) => severity === "error").map(({ line }) => line),
      );
    expect(await findings()).toEqual([]);

    await opened.admin.query(run(sql`create table pgrcp.chunks_p_bare (like pgrcp.chunks including constraints)`));
    await opened.admin.query(
      run(sql`alter table pgrcp.chunks attach partition pgrcp.chunks_p_bare for values in ('p_bare')`),
    );

    expect(await findings()).toEqual(
      expect.arrayContaining([
        "row level security is not enabled and forced on pgrcp.chunks_p_bare",
        expect.stringContaining("missing: pgrcp.chunks_p_bare policy chunks_p_bare_tenant_isolation_reader"),
      ]),
    );
    await place(opened); // no corpus names it
    expect(await findings()).toEqual([]);
  });

  test("another tenant reads none of it, by its parent or by itself", async () => {
    const { tenantId } = await filled(320);
    await place(opened);
    const found = await placeOf(opened.admin, tenantId);
    const stranger = accessTo(freshTenant());
    const read = (statement: ReturnType<typeof sql>) =>
      opened.database.read("reader", stranger, [rows(statement)], limits());

    expect(
      await read(
        sql`select 1 from pgrcp.chunks where tenant_id = ${tenantId} and placement = ${found?.placement ?? ""}`,
      ),
    ).toEqual([[]]);
    const itself = run(sql`select 1 from pgrcp.${identifier(`chunks_${found?.placement}`)}`);
    await expect(opened.database.read("reader", accessTo(tenantId), [itself], limits())).rejects.toMatchObject({
      code: -32012,
    });
  });

  test("answers are whole while chunks move and documents are written", async () => {
    const { tenantId, caller } = await filled(1_200);
    const other = callerOf(opened.database, tenantId, { config });
    const indexVersion = (await other.retrieve({ query: "amber" })).indexVersion;
    const asked = questions(random, 4).flatMap((question) => [
      { ...question, k: 100, indexVersion },
      // Of the newest version, whose written documents have another year.
      { ...question, k: 100, mode: "dense", filter: { field: "year", op: "gte", value: 2000 } },
    ]);
    const before = await answersOf(other, asked);
    const moved: number[] = [];
    let isDone = false;
    let written = 0;

    const reading = (async () => {
      for (let rounds = 0; !isDone || rounds === 0; rounds += 1) expect(await answersOf(other, asked)).toEqual(before);
    })();
    const writing = (async () => {
      while (!isDone) {
        await caller.add([{ id: `w${written}`, text: "zzz", meta: { year: 1990 } }]);
        if (written > 0) await caller.delete([`w${written - 1}`]);
        written += 1;
      }
    })();
    await place(opened, { report: (event) => event.kind === "moving" && moved.push(event.done) });
    isDone = true;
    await Promise.all([reading, writing]);

    expect(moved.length).toBeGreaterThan(1);
    expect(written).toBeGreaterThan(2);
    expect(await answersOf(other, asked)).toEqual(before);
    const { placement = "" } = (await placeOf(opened.admin, tenantId)) ?? {};
    expect(Object.keys(await chunksBy(opened.admin, tenantId))).toEqual([placement]);
  });

  test("a move that was stopped is gone on with, and its corpus is whole meanwhile, also for who last saw it elsewhere", async () => {
    const { tenantId, caller } = await filled(1_100);
    const asked = questions(random, 12);
    const before = await answersOf(caller, asked); // from here on it keeps what it saw for some seconds
    const stopped = new AbortController();

    const done = await place(opened, { signal: stopped.signal, report: () => stopped.abort() });

    expect(done).toEqual([]);
    const { placement = "" } = (await placeOf(opened.admin, tenantId)) ?? {};
    expect(await chunksBy(opened.admin, tenantId)).toEqual({ shared: 100, [placement]: 1_000 });
    expect(await answersOf(caller, asked)).toEqual(before);
    await caller.add([{ id: "meanwhile", text: "amber amber amber" }]);
    expect(await caller.ids({ query: "amber amber amber", k: 1, mode: "sparse" })).toHaveLength(1);

    const resumed = await place(opened);

    expect(resumed.map(({ did, chunks }) => [did, chunks])).toEqual([
      ["moved to its own partition", 100],
      ["built its graph", 1_101],
    ]);
    expect(await placeOf(opened.admin, tenantId)).toMatchObject({ placement, movingFrom: null });
    await caller.delete(["meanwhile"]);
    expect(await answersOf(caller, asked)).toEqual(before);
  });

  test("a corpus keeps its partition down to half the threshold, then moves back and the partition goes", async () => {
    const { tenantId, caller } = await filled(400);
    await place(opened);
    const before = await ownPartitions(opened.admin);
    await caller.delete(Array.from({ length: 250 }, (_, index) => `d${index}`));

    expect(await place(opened, { settings: { rebuildShare: 1 } })).toEqual([]);
    await caller.delete(["d250"]);
    const asked = questions(random, 12);
    const answers = await answersOf(caller, asked);
    const done = await place(opened);

    // Closed chunks are kept for pinned versions, so all 400 move.
    expect(done).toMatchObject([{ tenant: tenantId, did: "moved to the shared partition", chunks: 400 }]);
    expect(await placeOf(opened.admin, tenantId)).toEqual({ placement: "shared", movingFrom: null, graphChunks: null });
    expect(await ownPartitions(opened.admin)).toHaveLength(before.length - 1);
    expect(await answersOf(caller, asked)).toEqual(answers);
  });

  test("a graph of which more than the share leads to closed chunks is built anew", async () => {
    const { tenantId, caller } = await filled(400);
    await place(opened);
    await caller.delete(Array.from({ length: 80 }, (_, index) => `d${index}`));
    expect(await place(opened)).toEqual([]);

    await caller.delete(["d80"]);

    expect(await place(opened)).toMatchObject([{ tenant: tenantId, did: "rebuilt its graph", chunks: 319 }]);
    expect(await placeOf(opened.admin, tenantId)).toMatchObject({ graphChunks: 319 });
    expect(await place(opened)).toEqual([]);
  });

  test("a filter field gets its index on partitions from before and from during its migration", async () => {
    const added = filterFields({ year: "int", lang: "keyword" });
    const lang = added.get("lang");
    if (lang === undefined) throw new Error("the field is there");
    await filled(310);
    await place(opened);
    await addColumn(opened.admin, lang); // and then that migration was interrupted
    await opened.admin.query(
      run(sql`create index f_lang on only pgrcp.chunks (tenant_id, corpus, f_lang) where removed_version is null`),
    );
    await filled(310);
    await place(opened);

    await migrate(opened.admin, { fields: added, columnValueOf: columnValue });

    const [index] = await opened.admin.query(
      rows<{ valid: boolean; indexed: number; partitions: number }>(
        sql`select i.indisvalid as valid, (select count(*) from pg_inherits where inhparent = i.indexrelid) as indexed,
  (select count(*) from pg_inherits where inhparent = i.indrelid) as partitions from pg_index i where i.indexrelid = 'pgrcp.f_lang'::regclass`,
      ),
    );
    expect(index?.valid).toBe(true);
    expect(index?.indexed).toBe(index?.partitions);
    expect(index?.partitions).toBeGreaterThan(2);
  });

  test("a corpus that cannot be done does not keep others waiting, and is told of when they are done", async () => {
    const [one, other] = [await filled(310), await filled(310)];
    const [first, second] =
      one.tenantId < other.tenantId ? [one.tenantId, other.tenantId] : [other.tenantId, one.tenantId];
    // No graph of that can be built over its vectors of 32 numbers.
    const setDimension = (dimension: number) =>
      opened.admin.query(run(sql`update pgrcp.corpora set dimension = ${dimension} where tenant_id = ${first}`));
    await setDimension(33);
    const failed: CorpusKey[] = [];
    const report = (event: PlacingEvent) => void (event.kind === "failed" && failed.push(event.corpus));

    await expect(place(opened, { report })).rejects.toThrow("expected 33 dimensions, not 32");

    expect(failed).toEqual([{ tenantId: first, corpus: "default" }]);
    expect(await placeOf(opened.admin, first)).toMatchObject({ movingFrom: null, graphChunks: null });
    expect(await placeOf(opened.admin, second)).toMatchObject({ graphChunks: 310 });
    await setDimension(32);
    expect(await place(opened)).toMatchObject([{ tenant: first, did: "built its graph" }]);
  });

  test("only one maintainer works in a database", async () => {
    const { tenantId } = await filled(310);
    const holder = new pg.Client({ connectionString: opened.config.database.migrateUrl });
    await holder.connect();
    // A graph is not done while a transaction is open that began before it.
    await holder.query("begin isolation level repeatable read; select 1");
    const hasBegun = Promise.withResolvers<void>();
    const first = place(opened, { report: () => hasBegun.resolve() });
    try {
      await hasBegun.promise;
      const second = place(opened);
      await expect(second).rejects.toMatchObject({
        name: "Refusal",
        message: "another maintainer is at work in this database",
      });
    } finally {
      await holder.end();
      await first;
    }

    expect(await placeOf(opened.admin, tenantId)).toMatchObject({ graphChunks: 310 });
  });
});
