import { randomBytes } from "node:crypto";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { FilterField, FilterFields } from "../../src/catalog/corpus.ts";
import type { LoginFacts } from "../../src/db/catalog-facts.ts";
import { checkLogin } from "../../src/db/login-checks.ts";
import { readMigrations } from "../../src/db/migrations.ts";
import { migrate } from "../../src/db/migrator.ts";
import { selfTest } from "../../src/db/self-test.ts";
import {
  checkEncoding,
  checkPostgresVersion,
  checkSchemaVersion,
  checkVectorVersion,
} from "../../src/db/server-checks.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { columnValue } from "../../src/plan/check-meta.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";
import { run } from "./rows.ts";

const { admin, database, close } = await openTestDatabase();
afterAll(close);

const NO_FIELDS: FilterFields = new Map();
const fieldsOf = (...fields: FilterField[]): FilterFields => new Map(fields.map((each) => [each.name, each]));
const field = (type: FilterField["type"], array = false): FilterField => ({
  name: "made",
  type,
  array,
  column: "f_made",
});
const script = (text: string) => admin.transaction((transaction) => transaction.script(text));
const check = (fields = NO_FIELDS) => selfTest(database, fields, () => {});

test("a database as the migrations leave it passes", async () => {
  await expect(check()).resolves.toBeUndefined();
});

const OTHER_LOGIN = `pgrcptest_${randomBytes(4).toString("hex")}`;

/** What somebody may do to a database, what undoes it, and the line that the server then refuses with. */
const DAMAGE = [
  [
    "row level security off",
    "alter table pgrcp.documents disable row level security",
    "alter table pgrcp.documents enable row level security",
    "row level security is not enabled and forced on pgrcp.documents",
  ],
  [
    "row level security not forced",
    "alter table pgrcp.corpora no force row level security",
    "alter table pgrcp.corpora force row level security",
    "row level security is not enabled and forced on pgrcp.corpora",
  ],
  [
    "row level security off on a partition",
    "alter table pgrcp.chunks_shared disable row level security",
    "alter table pgrcp.chunks_shared enable row level security",
    "row level security is not enabled and forced on pgrcp.chunks_shared",
  ],
  [
    "row level security off in the other schema",
    "alter table pgrcp_state.sessions disable row level security",
    "alter table pgrcp_state.sessions enable row level security",
    "row level security is not enabled and forced on pgrcp_state.sessions",
  ],
  [
    "a grant on a partition",
    "grant select on pgrcp.chunks_shared to pgrcp_reader",
    "revoke select on pgrcp.chunks_shared from pgrcp_reader",
    "somebody has a grant on the partition pgrcp.chunks_shared",
  ],
  [
    "a grant on one column of a partition",
    "grant select (doc_id) on pgrcp.chunks_shared to pgrcp_reader",
    "revoke select (doc_id) on pgrcp.chunks_shared from pgrcp_reader",
    "somebody has a grant on the partition pgrcp.chunks_shared",
  ],
  [
    "a table of one's own without row level security",
    "create table pgrcp.notes (tenant_id text)",
    "drop table pgrcp.notes",
    "row level security is not enabled and forced on pgrcp.notes",
  ],
  [
    "a policy gone",
    "alter policy documents_close_once on pgrcp.documents rename to something_else",
    "alter policy something_else on pgrcp.documents rename to documents_close_once",
    "missing: pgrcp.documents policy documents_close_once restrictive for update to pgrcp_adder, pgrcp_deleter using (removed_version IS NULL) check (removed_version IS NOT NULL)",
  ],
  [
    "a policy more",
    "create policy wide on pgrcp.documents for select to pgrcp_reader using (true)",
    "drop policy wide on pgrcp.documents",
    "not expected: pgrcp.documents policy wide permissive for select to pgrcp_reader using true",
  ],
  [
    "a right more",
    "grant delete on pgrcp.documents to pgrcp_deleter",
    "revoke delete on pgrcp.documents from pgrcp_deleter",
    "not expected: pgrcp.documents grant delete to pgrcp_deleter",
  ],
  [
    "a right for everybody",
    "grant select on pgrcp.documents to public",
    "revoke select on pgrcp.documents from public",
    "not expected: pgrcp.documents grant select to public",
  ],
  [
    "a right for everybody on some columns",
    "grant update (trust, source) on pgrcp.documents to public",
    "revoke update (trust, source) on pgrcp.documents from public",
    "not expected: pgrcp.documents grant update (source, trust) to public",
  ],
  [
    "a right of a login that is not one of the standard ones",
    `create role ${OTHER_LOGIN}; grant delete on pgrcp.documents to ${OTHER_LOGIN} with grant option`,
    `revoke delete on pgrcp.documents from ${OTHER_LOGIN}; drop role ${OTHER_LOGIN}`,
    `not expected: pgrcp.documents grant delete to ${OTHER_LOGIN} with grant option`,
  ],
  [
    "a right to make things beside the tables",
    "grant create on schema pgrcp to pgrcp_adder",
    "revoke create on schema pgrcp from pgrcp_adder",
    "not expected: schema pgrcp grant create to pgrcp_adder",
  ],
  [
    "a right to call a function",
    "grant execute on function pgrcp_admin.protect_tenant_table to public",
    "revoke execute on function pgrcp_admin.protect_tenant_table from public",
    "not expected: pgrcp_admin.protect_tenant_table grant execute to public",
  ],
] as const;

test.each(DAMAGE)("%s is refused", async (_, damage, repair, line) => {
  await script(damage);

  const outcome = await check().catch((error: unknown) => error);

  await script(repair);
  expect(outcome).toMatchObject({ name: "StartupError", line, exitCode: 4, remedy: expect.any(String) });
  await expect(check()).resolves.toBeUndefined();
});

/** The same for the triggers that hold a writer to its own kind of write, which nothing but their definition can tell from a sham. */
const SHAMS = [
  [
    "switched off",
    "alter table pgrcp.documents disable trigger documents_replaced",
    "documents trigger documents_replaced",
  ],
  [
    "whose function does nothing",
    "create or replace function pgrcp.document_is_replaced() returns trigger language plpgsql set search_path = pg_catalog, pgrcp as 'begin return null; end'",
    "document_is_replaced function",
  ],
  [
    "whose function runs with its owner's rights",
    "alter function pgrcp.document_is_replaced() security definer",
    "document_is_replaced function",
  ],
  [
    "whose function finds its tables elsewhere",
    "alter function pgrcp.document_is_replaced() set search_path = pg_temp, pgrcp",
    "document_is_replaced function",
  ],
  [
    "that never fires",
    "create or replace trigger chunks_replaced after delete on pgrcp.chunks referencing old table as closed for each statement execute function pgrcp.chunks_are_replaced()",
    "chunks trigger chunks_replaced",
  ],
  [
    "that calls another function",
    "create or replace trigger chunks_replaced after update on pgrcp.chunks referencing new table as closed for each statement execute function pgrcp.document_is_replaced()",
    "chunks trigger chunks_replaced",
  ],
] as const;
const definitions = compile(
  sql`select string_agg(line, '; ') as script from (
  select pg_get_functiondef(f.oid) as line from pg_proc f where f.pronamespace = 'pgrcp'::regnamespace
  union all select replace(pg_get_triggerdef(t.oid), 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER') from pg_trigger t where t.tgname = 'chunks_replaced'
  union all select 'alter table pgrcp.documents enable trigger documents_replaced') lines`,
  (row) => row.script as string,
);

test.each(SHAMS)("a trigger %s is refused", async (_, damage, missing) => {
  const [repair = ""] = await admin.query(definitions);
  await script(damage);

  const outcome = await check().catch((error: unknown) => error);

  await script(repair);
  expect(outcome).toMatchObject({ line: expect.stringContaining(`missing: pgrcp.${missing}`) });
  await expect(check()).resolves.toBeUndefined();
});

test("a partition of another tenant's own passes when it has the policies of the first one", async () => {
  await script(`create table pgrcp.chunks_t1 partition of pgrcp.chunks for values in ('t1');
alter table pgrcp.chunks_t1 owner to pgrcp_owner;
select pgrcp_admin.protect_tenant_table('pgrcp.chunks_t1', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}')`);

  await expect(check()).resolves.toBeUndefined();

  await script("alter policy chunks_t1_tenant_isolation_reader on pgrcp.chunks_t1 using (true)");
  await expect(check()).rejects.toThrow(
    /^missing: pgrcp.chunks_t1 policy chunks_t1_tenant_isolation_reader restrictive/,
  );
  await script("drop table pgrcp.chunks_t1");
});

describe("a filter field", () => {
  afterEach(async () => {
    await script("alter table pgrcp.chunks drop column if exists f_made; delete from pgrcp_admin.filter_fields");
  });
  const made = (each: FilterField) => migrate(admin, { fields: fieldsOf(each), columnValueOf: columnValue });

  test("without a column is refused", async () => {
    await expect(check(fieldsOf(field("int")))).rejects.toMatchObject({
      line: "filter field made has no column yet",
      remedy: "run `pgrcp migrate`",
    });
  });

  const TYPES = ["keyword", "text", "int", "float", "bool", "date"] as const;

  test.each(TYPES.flatMap((type) => [[type, false] as const, [type, true] as const]))(
    "of type %s (a list: %s) passes with the column that migrate makes",
    async (type, array) => {
      await made(field(type, array));

      await expect(check(fieldsOf(field(type, array)))).resolves.toBeUndefined();
    },
  );

  test("with a column of another type is refused", async () => {
    await made(field("int"));

    await expect(check(fieldsOf(field("bool")))).rejects.toThrow(
      "filter field made is boolean in the configuration and bigint in the database",
    );
  });

  test("whose column is not filled to its end is refused", async () => {
    const interrupted = () => {
      throw new Error("pulled the plug");
    };
    await script(`insert into pgrcp.tenants values ('f');
insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
  values ('f', 'default', 'd', 1, 's', 'i', 's', 'trusted', false, false, '{}', 1);
insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, embedding)
  values ('f', 'default', 'shared', 0, 'd', 0, 1, 1, 0, 1, '[1]')`);
    await migrate(admin, { fields: fieldsOf(field("int")), columnValueOf: interrupted }).catch(() => {});

    await expect(check(fieldsOf(field("int")))).rejects.toMatchObject({
      line: "filter field made is not filled yet",
      remedy: "run `pgrcp migrate` to its end",
    });
  });
});

describe("a schema version", () => {
  const known = 5;
  const facts = (schemaComment: string | undefined) => ({
    serverVersion: 150_000,
    vectorVersion: "0.8.4",
    schemaComment,
  });

  test("of this program passes", () => {
    expect(checkSchemaVersion(facts("pgrcp schema 5"), known)).toEqual([]);
  });

  test.each([
    ["older", "pgrcp schema 4", "the database has schema version 4, and this program needs 5", "run `pgrcp migrate`"],
    ["none", undefined, "the database has no pgrcp schema", "run `pgrcp migrate`"],
    [
      "somebody's comment",
      "hello",
      "the database has a schema of unknown version, and this program needs 5",
      "run `pgrcp migrate`",
    ],
    [
      "newer",
      "pgrcp schema 6",
      "the database has schema version 6, and this program knows 5",
      "start the pgrcp version that ran `pgrcp migrate` last, or a newer one",
    ],
  ])("that is %s is refused, and the remedy names the command", (_, comment, line, remedy) => {
    expect(checkSchemaVersion(facts(comment), known)).toEqual([{ severity: "error", line, remedy }]);
  });

  test("is looked at in the database itself", async () => {
    const newest = (await readMigrations()).length;
    await admin.query(run(sql`comment on schema pgrcp is 'pgrcp schema 1'`));

    await expect(check()).rejects.toThrow(`the database has schema version 1, and this program needs ${newest}`);
    await script(`comment on schema pgrcp is 'pgrcp schema ${newest}'`);
  });
});

test.each([
  ["0.7.4", "error"],
  ["0.8.0", "warning"],
  ["0.8.3", "warning"],
  ["0.8.4", undefined],
  ["0.10.0", undefined],
  ["1.0", undefined],
  [undefined, "error"],
])("pgvector %s gives %s", (vectorVersion, severity) => {
  const findings = checkVectorVersion({ vectorVersion });

  expect(findings.map((finding) => finding.severity)).toEqual(severity === undefined ? [] : [severity]);
});

test("PostgreSQL 14 is refused and 15 is not", () => {
  expect(checkPostgresVersion({ serverVersion: 140_013 })).toHaveLength(1);
  expect(checkPostgresVersion({ serverVersion: 150_000 })).toEqual([]);
});

test("a database that cannot hold every text is refused", () => {
  expect(checkEncoding({ encoding: "LATIN1" })).toHaveLength(1);
  expect(checkEncoding({ encoding: "UTF8" })).toEqual([]);
});

test("a warning is observed and does not refuse", async () => {
  const observed: Observation[] = [];

  await selfTest(database, NO_FIELDS, (observation) => observed.push(observation));

  expect(observed.every(({ kind }) => kind === "warning")).toBe(true);
});

describe("a login", () => {
  const settings = {
    plan_cache_mode: "force_custom_plan",
    default_transaction_isolation: "repeatable read",
    default_transaction_read_only: "on",
    enable_seqscan: "off",
    enable_hashjoin: "off",
    enable_mergejoin: "off",
  };
  const good: LoginFacts = {
    user: "somebody",
    superuser: false,
    bypassesRls: false,
    attributes: [],
    owns: false,
    powers: [],
    hasRole: true,
    settings,
  };

  test("that is the role and nothing more passes", () => {
    expect(checkLogin("reader", good)).toEqual([]);
  });

  test.each([
    [{ superuser: true }, "database.reader.user is somebody, a superuser: row level security would not hold"],
    [{ bypassesRls: true }, "database.reader.user is somebody, which has BYPASSRLS"],
    [{ attributes: ["CREATEDB", "REPLICATION"] }, "database.reader.user is somebody, which has CREATEDB, REPLICATION"],
    [{ owns: true }, "database.reader.user is somebody, which is the owner of pgrcp's tables or a member of it"],
    [{ powers: ["pgrcp_adder"] }, "database.reader.user is somebody, a member of pgrcp_adder"],
    [{ hasRole: false }, "database.reader.user is somebody, which does not have the rights of pgrcp_reader"],
    [
      { settings: { ...settings, default_transaction_isolation: "read committed" } },
      "somebody connects without default_transaction_isolation = repeatable read",
    ],
    [
      { settings: { ...settings, default_transaction_read_only: "off" } },
      "somebody connects without default_transaction_read_only = on",
    ],
    [
      { settings: { ...settings, plan_cache_mode: "auto" } },
      "somebody connects without plan_cache_mode = force_custom_plan",
    ],
    [{ settings: { ...settings, enable_hashjoin: "on" } }, "somebody connects without enable_hashjoin = off"],
  ])("with %o is refused", (changes, line) => {
    expect(checkLogin("reader", { ...good, ...changes }).map((finding) => finding.line)).toEqual([line]);
  });
});
