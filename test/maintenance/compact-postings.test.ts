import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compactPostings } from "../../src/maintenance/compact-postings.ts";
import { purgeDocuments } from "../../src/maintenance/purge.ts";
import { lockPostingsPlaces, movePostings } from "../../src/sql/compaction.ts";
import { compile, noRows, type Sql, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

const run = (statement: Sql) => opened.admin.query(compile(statement, noRows));
const one = async (statement: Sql) => (await opened.admin.query(compile(statement, (row) => row.value)))[0];

/** 20,000 short blocks of each of three tenants, and 60 of 12 kB, which lie out of line; of these four in five are taken out again. */
async function fillAndEmpty(name: string): Promise<void> {
  await run(
    sql`insert into pgrcp.postings select ${name} || g % 3, 'default', 'w' || g, 0, 10, decode(repeat('00100001', 10), 'hex') from generate_series(1, 60000) g`,
  );
  await run(
    sql`insert into pgrcp.postings select ${name} || g % 3, 'default', 'out' || g, 0, 3000, decode(repeat('00100001', 3000), 'hex') from generate_series(1, 300) g`,
  );
  await run(
    sql`delete from pgrcp.postings where tenant_id like ${`${name}%`} and substr(term, length(term)) not in ('0', '5')`,
  );
}

const contents = () =>
  one(sql`select md5(string_agg(p::text, ',' order by tenant_id, corpus, term, block)) as value from pgrcp.postings p`);
const bytes = async () => Number(await one(sql`select pg_total_relation_size('pgrcp.postings') as value`));

test("what was collected is given back, and every row that is left is as it was", async () => {
  await fillAndEmpty("given-back");
  const [full, rows] = [await bytes(), await contents()];

  const { before, after } = await compactPostings(opened.admin);

  expect(await bytes()).toBeLessThan(full * 0.4);
  expect(await contents()).toBe(rows);
  expect(after.pages).toBeLessThan(before.pages / 2);
  expect(after.outBytes).toBeLessThan(before.outBytes / 2);
  expect(after.indexBytes).toBeLessThan(before.indexBytes / 2);
  // Nothing is left to do.
  expect((await compactPostings(opened.admin)).after).toEqual(after);
});

test("the index of what lies out of line is built anew where writes left it loose", async () => {
  const index = async () =>
    Number(
      await one(
        sql`select pg_indexes_size(reltoastrelid) as value from pg_class where oid = 'pgrcp.postings'::regclass`,
      ),
    );
  await fillAndEmpty("loose");
  // Each writes what lies out of line again: 60 blocks of 12 kB, 7 pieces a block.
  for (let turn = 0; turn < 60; turn++)
    await run(sql`update pgrcp.postings set packed = packed || ''::bytea where tenant_id like 'loose%' and n = 3000`);
  const loose = await index();

  await compactPostings(opened.admin);

  expect(await index()).toBeLessThan(loose / 4);
});

test("reads and writes go on meanwhile, and nothing of them is lost", async () => {
  const caller = callerOf(opened.database, freshTenant());
  await caller.add([{ id: "first", text: "amber" }]);
  await fillAndEmpty("meanwhile");
  let isDone = false;
  const written = ["first"];
  const use = async () => {
    do {
      const id = `d${written.length}`;
      await caller.add([{ id, text: "amber basalt" }]);
      written.push(id);
      expect((await caller.ids({ query: "amber", mode: "sparse", k: 100 })).toSorted()).toEqual(written.toSorted());
    } while (!isDone && written.length < 90);
  };

  const compacted = compactPostings(opened.admin).finally(() => {
    isDone = true;
  });
  await Promise.all([compacted, use()]);

  // Postgres leaves a table's empty end where it is while others wait for the table. The next run cuts it off.
  const { before } = await compacted;
  expect((await compactPostings(opened.admin)).after.pages).toBeLessThan(before.pages);
  expect((await caller.ids({ query: "basalt", mode: "sparse", k: 100 })).toSorted()).toEqual(
    written.slice(1).toSorted(),
  );
});

test("a text that is purged while its postings move leaves none", async () => {
  const tenant = freshTenant();
  await callerOf(opened.database, tenant).add([{ id: "secret", text: "amber" }]);
  const words = () =>
    opened.admin.query(
      compile(sql`select term from pgrcp.postings where tenant_id = ${tenant}`, (row) => row.term as string),
    );
  expect(await words()).toHaveLength(1);

  let purged: Promise<unknown> | undefined;
  await opened.admin.transaction(async (transaction) => {
    await transaction.query(lockPostingsPlaces);
    await transaction.query(movePostings(0, 1_000_000));
    purged = purgeDocuments(opened.operator, { tenant, corpus: "default" }, ["secret"]);
    await sleep(300); // by then it has come to the postings, or waits before them
  });
  await purged;

  expect(await words()).toEqual([]);
});
