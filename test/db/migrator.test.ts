import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { FieldType, FilterField, FilterFields } from "../../src/catalog/corpus.ts";
import type { AdminConnection } from "../../src/db/admin-connection.ts";
import { readMigrations } from "../../src/db/migrations.ts";
import { type MigrateEvent, migrate, planMigration } from "../../src/db/migrator.ts";
import { openPostgresAdmin } from "../../src/db/operator-database.ts";
import { columnValue } from "../../src/plan/check-meta.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { rows, run, seed } from "./rows.ts";

const opened: TestDatabase[] = [];
async function open(): Promise<TestDatabase> {
  const database = await openTestDatabase();
  opened.push(database);
  return database;
}
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});

const field = (name: string, type: FieldType, array = false): FilterField => ({
  name,
  type,
  array,
  column: `f_${name}`,
});
const fieldMap = (...fields: FilterField[]): FilterFields => new Map(fields.map((each) => [each.name, each]));
const options = (...fields: FilterField[]) => ({ fields: fieldMap(...fields), columnValueOf: columnValue });

describe("migrations", () => {
  let shared: TestDatabase;
  beforeAll(async () => {
    shared = await openTestDatabase();
  });
  afterAll(() => shared.close());

  test("are numbered from 1 without a gap, and each has the hash of its text", async () => {
    const migrations = await readMigrations();

    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, index) => index + 1));
    expect(migrations[0]?.checksum).toMatch(/^[0-9a-f]{64}$/);
  });

  test("that have run are in the history and in the schema's comment, and run no second time", async () => {
    const { admin } = shared;
    const migrations = await readMigrations();

    const plan = await migrate(admin, options());

    expect(plan.pending).toEqual([]);
    const history = await admin.query(rows(sql`select version, name, checksum from pgrcp_admin.migrations order by 1`));
    expect(history).toEqual(migrations.map(({ version, name, checksum }) => ({ version, name, checksum })));
    const comment = rows(sql`select obj_description('pgrcp'::regnamespace, 'pg_namespace') as comment`);
    expect(await admin.query(comment)).toEqual([{ comment: `pgrcp schema ${migrations.length}` }]);
  });

  test("that have all run are found so without waiting for another migrator", async () => {
    const { admin } = shared;
    const asked: string[] = [];
    const recorded: AdminConnection = {
      query: (statement) => {
        asked.push(statement.text);
        return admin.query(statement);
      },
      transaction: () => Promise.reject(new Error("there is nothing to change")),
      close: async () => {},
    };

    await migrate(recorded, options());

    expect(asked.filter((text) => text.includes("advisory_lock"))).toEqual([]);
  });

  test("that are pending are planned and not run by a plan, then run by migrate", async () => {
    const { admin } = await open();
    const migrations = await readMigrations();
    const next = {
      version: migrations.length + 1,
      name: "9999_next.sql",
      checksum: "c",
      text: "create table pgrcp_admin.made_by_next ()",
    };
    const made = rows(sql`select to_regclass('pgrcp_admin.made_by_next') is not null as made`);

    const plan = await planMigration(admin, { ...options(), migrations: [...migrations, next] });

    expect(plan.pending.map(({ name }) => name)).toEqual(["9999_next.sql"]);
    expect(await admin.query(made)).toEqual([{ made: false }]);
    await migrate(admin, { ...options(), migrations: [...migrations, next] });
    expect(await admin.query(made)).toEqual([{ made: true }]);
  });

  test("that fail leave nothing behind, and say which one and why", async () => {
    const { admin } = shared;
    const migrations = await readMigrations();
    const text = "create table pgrcp_admin.half (); select 1 / 0";
    const bad = { version: migrations.length + 1, name: "9999_bad.sql", checksum: "c", text };

    const migrating = migrate(admin, { ...options(), migrations: [...migrations, bad] });

    await expect(migrating).rejects.toMatchObject({
      line: "migration 9999_bad.sql failed and changed nothing: division by zero",
      exitCode: 4,
    });
    const half = rows(
      sql`select to_regclass('pgrcp_admin.half') as found, (select max(version) from pgrcp_admin.migrations) as newest`,
    );
    expect(await admin.query(half)).toEqual([{ found: null, newest: migrations.length }]);
  });

  test("that were edited after they ran are refused", async () => {
    const { admin } = shared;
    const [first, ...rest] = await readMigrations();
    if (first === undefined) throw new Error("there is a first migration");

    const planning = planMigration(admin, { ...options(), migrations: [{ ...first, checksum: "edited" }, ...rest] });

    await expect(planning).rejects.toThrow(`migration ${first.name} is not the one that ran in this database`);
  });

  test("of a newer program are refused", async () => {
    const { admin } = shared;
    const migrations = await readMigrations();

    const planning = planMigration(admin, { ...options(), migrations: migrations.slice(0, -1) });

    await expect(planning).rejects.toThrow(
      `the database has schema version ${migrations.length}, and this program knows ${migrations.length - 1}`,
    );
  });

  test("keep the migrator's lock when one of its transactions fails, and the connection is clean", async () => {
    const { admin } = shared;
    const held = rows(sql`select count(*) as locks, current_user = session_user as own from pg_locks
where locktype = 'advisory' and objid = 77 and pid = pg_backend_pid()`);
    await admin.query(run(sql`select pg_advisory_lock(77)`));

    const failing = admin.transaction((transaction) => transaction.script("set role pgrcp_owner; select 1 / 0"));

    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await admin.query(held)).toEqual([{ locks: 1, own: true }]);
    await admin.query(run(sql`select pg_advisory_unlock(77)`));
  });

  test("of two migrators at once run once", async () => {
    const { admin, config } = await open();
    const other = config.database.migrateUrl;
    const second = other === undefined ? admin : openPostgresAdmin(other, config, () => {});
    const migrations = await readMigrations();
    const text = "create table pgrcp_admin.once ()";
    const next = { version: migrations.length + 1, name: "9999_once.sql", checksum: "c", text };
    const both = { ...options(), migrations: [...migrations, next] };

    const plans = await Promise.all([migrate(admin, both), migrate(second, both)]);

    expect(plans).toHaveLength(2);
    expect(
      await admin.query(rows(sql`select name from pgrcp_admin.migrations where version = ${next.version}`)),
    ).toEqual([{ name: "9999_once.sql" }]);
    if (second !== admin) await second.close();
  });
});

const year = field("year", "int");
const tags = field("tags", "keyword", true);
const published = field("published", "date");

/** Documents of one chunk each, with the meta given; `doc` has none of the fields. */
async function store({ admin, operator }: TestDatabase, metas: Readonly<Record<string, object>>): Promise<void> {
  await seed(operator, "t");
  for (const [index, [docId, meta]] of Object.entries(metas).entries()) {
    await admin.query(
      run(sql`insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
values ('t', 'default', ${docId}, 1, 'api', 'iss', 'sub', 'untrusted', false, false, ${JSON.stringify(meta)}::json, 1)`),
    );
    await admin.query(
      run(sql`insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, embedding)
values ('t', 'default', 'shared', ${index + 1}, ${docId}, 0, 1, 1, 0, 1, '[1,0]')`),
    );
  }
}

const values = (admin: AdminConnection, column: string) =>
  admin.query(
    compile(sql`select doc_id, to_json(t) -> ${column} as value from pgrcp.chunks t order by chunk_no`, (row) => [
      row.doc_id,
      row.value,
    ]),
  );

describe("filter columns", () => {
  test("are filled from stored meta, typed; what does not fit stays null and is listed", async () => {
    const database = await open();
    const events: MigrateEvent[] = [];
    await store(database, {
      good: { year: 2020, tags: ["a", "b"], published: "2026-01-02" },
      offset: { year: -1, tags: [], published: "1970-01-01T01:00:00+01:00" },
      wrong: { year: "2020", tags: ["a", null], published: "soon" },
      half: { year: 1.5, tags: "a", published: 86_400_000 },
    });

    await migrate(database.admin, { ...options(year, tags, published), report: (event) => events.push(event) });

    expect(await values(database.admin, "f_year")).toEqual([
      ["doc", null],
      ["good", 2020],
      ["offset", -1],
      ["wrong", null],
      ["half", null],
    ]);
    expect(await values(database.admin, "f_tags")).toEqual([
      ["doc", null],
      ["good", ["a", "b"]],
      ["offset", []],
      ["wrong", null],
      ["half", null],
    ]);
    // 2026-01-02 is 20,455 days after 1970-01-01: 56 years of 365 days, 14 leap days, 1 day.
    expect(await values(database.admin, "f_published")).toEqual([
      ["doc", null],
      ["good", 20_455 * 86_400_000],
      ["offset", 0],
      ["wrong", null],
      ["half", 86_400_000],
    ]);
    expect(events.flatMap((event) => (event.kind === "misfit" ? [event.misfit] : []))).toEqual([
      { field: "year", tenantId: "t", corpus: "default", count: 2, docIds: ["wrong", "half"] },
      { field: "tags", tenantId: "t", corpus: "default", count: 2, docIds: ["wrong", "half"] },
      { field: "published", tenantId: "t", corpus: "default", count: 1, docIds: ["wrong"] },
    ]);
    expect(events.filter(({ kind }) => kind === "backfill")).toEqual([
      { kind: "backfill", fields: ["year", "tags", "published"], done: 5, total: 5 },
    ]);
  });

  test("have an index and statistics where these help, are ready, and are planned only once", async () => {
    const { admin } = await open();
    await migrate(admin, options(year, tags));

    const plan = await planMigration(admin, options(year, tags));

    expect(plan.fields).toEqual({ missing: [], unfinished: [], unused: [] });
    const indexes =
      rows(sql`select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
where pg_get_indexdef(i.indexrelid) like '%f\\_%' and i.indrelid in ('pgrcp.chunks'::regclass, 'pgrcp.chunks_shared'::regclass) order by 1`);
    expect(await admin.query(indexes)).toEqual([
      { name: "chunks_shared_f14", valid: true },
      { name: "f_year", valid: true },
    ]);
    const statistics = rows(
      sql`select stxname as name from pg_statistic_ext where stxrelid = 'pgrcp.chunks_shared'::regclass`,
    );
    expect(await admin.query(statistics)).toEqual([{ name: "chunks_shared_s14" }]);
  });

  test("go on where an interruption left them", async () => {
    const database = await open();
    await store(database, { one: { year: 1 }, two: { year: 2 } });
    let calls = 0;
    const interrupted = {
      ...options(year),
      columnValueOf() {
        calls += 1;
        throw new Error("pulled the plug");
      },
    };

    await expect(migrate(database.admin, interrupted)).rejects.toThrow("pulled the plug");

    expect(calls).toBe(1);
    expect((await planMigration(database.admin, options(year))).fields.unfinished).toEqual([year]);
    await migrate(database.admin, options(year));
    expect(await values(database.admin, "f_year")).toEqual([
      ["doc", null],
      ["one", 1],
      ["two", 2],
    ]);
  });

  test("start after the last chunk that was filled before", async () => {
    const database = await open();
    await store(database, { one: { year: 1 }, two: { year: 2 } });
    await migrate(database.admin, options(year));
    await database.admin.query(run(sql`update pgrcp.chunks set f_year = null`));
    await database.admin.query(
      run(sql`update pgrcp_admin.filter_fields set ready = false, position = '["t", "default", 1]'`),
    );

    await migrate(database.admin, options(year));

    expect(await values(database.admin, "f_year")).toEqual([
      ["doc", null],
      ["one", null],
      ["two", 2],
    ]);
  });

  test("are filled again on demand, where they are null and nowhere else", async () => {
    const database = await open();
    await store(database, { one: { year: 1 }, two: { year: 2 } });
    await migrate(database.admin, options(year));
    await database.admin.query(run(sql`update pgrcp.chunks set f_year = case doc_id when 'one' then null else 99 end`));

    await migrate(database.admin, { ...options(year), refill: true });

    expect(await values(database.admin, "f_year")).toEqual([
      ["doc", 99],
      ["one", 1],
      ["two", 99],
    ]);
  });

  test("of a field that the configuration drops keep their values", async () => {
    const database = await open();
    await store(database, { one: { year: 1 } });
    await migrate(database.admin, options(year));

    const plan = await migrate(database.admin, options());

    expect(plan.fields).toEqual({ missing: [], unfinished: [], unused: ["year"] });
    expect(await values(database.admin, "f_year")).toEqual([
      ["doc", null],
      ["one", 1],
    ]);
  });

  test("do not change their type", async () => {
    const { admin } = await open();
    await migrate(admin, options(year));

    const planning = planMigration(admin, options(field("year", "keyword")));

    await expect(planning).rejects.toMatchObject({
      line: "filter field year is int in the database and keyword in the configuration",
      remedy: "set filter.fields.year back to int, and give the new type a field name of its own",
    });
  });

  test("may have any name that the configuration allows", async () => {
    const { admin } = await open();
    const names = [field("Year.of-issue", "int"), field(`a${"b".repeat(59)}`, "keyword"), field("select", "bool")];

    await migrate(admin, options(...names));

    expect((await planMigration(admin, options(...names))).fields.unfinished).toEqual([]);
  });
});

test("reads and writes go on while a column is added and filled", async () => {
  const database = await open();
  await store(database, Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`d${index}`, { year: index }])));
  const outcomes: number[] = [];
  let migrating = true;
  const reading = (async () => {
    while (migrating) {
      const found = await database.operator.read(rows(sql`select 1 from pgrcp.chunks`));
      outcomes.push(found.length);
    }
  })();

  await migrate(database.admin, options(year, tags, published));
  migrating = false;
  await reading;

  expect(outcomes.length).toBeGreaterThan(0);
  expect(new Set(outcomes)).toEqual(new Set([41]));
});
