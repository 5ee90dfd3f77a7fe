import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as operator from "../../src/sql/operator.ts";
import { createPartition } from "../../src/sql/partitions.ts";
import { type SqlValue, type Statement, sql } from "../../src/sql/sql.ts";
import { rows, tenant } from "../db/rows.ts";
import { confinementOf, type TenantTables } from "../support/bound-scans.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { EVERY_FIELD } from "../support/every-field.ts";

/**
 * What a database that is spread by `tenant_id` over several machines asks of a schema and its statements: every key holds the column,
 * and every statement says of each table which tenant it means. Policies are no help there, so they are switched off here.
 */

const CASES = new URL("cases/", import.meta.url);
const SOURCE = new URL("../../src/sql/", import.meta.url);
const ACME = tenant("acme");

let opened: TestDatabase;
let tables: TenantTables;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: EVERY_FIELD });
  for (const statement of createPartition("p_1")) await opened.admin.query(statement);
  const found = await opened.admin.query(
    rows<{
      table: string;
      parent: string;
    }>(sql`select n.nspname || '.' || c.relname as "table", n.nspname || '.' || coalesce(p.relname, c.relname) as parent
from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
where n.nspname in ('pgrcp', 'pgrcp_state') and c.relkind in ('r', 'p')`),
  );
  tables = new Map(found.map(({ table, parent }) => [table, parent]));
});
afterAll(() => opened.close());

describe("every table", () => {
  test("begins with the tenant, which is never null", async () => {
    const first = rows<{ table: string }>(
      sql`select a.attrelid::regclass::text as "table" from pg_attribute a where a.attnum = 1 and a.attname = 'tenant_id' and a.attnotnull and a.attrelid::regclass::text = any(${[...tables.keys()]}::text[])`,
    );
    const found = await opened.admin.query(first);
    expect(found.map(({ table }) => table).toSorted()).toEqual([...tables.keys()].toSorted());
    expect(tables.size).toBeGreaterThan(15);
  });

  test("has the tenant in its primary key and in every unique index", async () => {
    const unique = rows<{ index: string; kind: string; columns: string[] }>(
      sql`select x.indexrelid::regclass::text as index, case when x.indisprimary then 'primary' else 'unique' end as kind,
  array(select a.attname::text from unnest(x.indkey[0:x.indnkeyatts - 1]) k join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k) as columns
from pg_index x where x.indisunique and x.indrelid::regclass::text = any(${[...tables.keys()]}::text[])`,
    );
    const found = await opened.admin.query(unique);
    expect(found.filter(({ columns }) => !columns.includes("tenant_id"))).toEqual([]);
    expect(found.filter(({ kind }) => kind === "primary")).toHaveLength(tables.size);
  });

  test("refers to another by the tenant, to the tenant there", async () => {
    const keys = rows<{ name: string; byTenant: boolean }>(
      sql`select conrelid::regclass || '.' || conname as name, exists (select from unnest(conkey, confkey) as pair (here, there)
    join pg_attribute h on h.attrelid = conrelid and h.attnum = here and h.attname = 'tenant_id'
    join pg_attribute t on t.attrelid = confrelid and t.attnum = there and t.attname = 'tenant_id') as "byTenant"
from pg_constraint where contype = 'f' and conrelid::regclass::text = any(${[...tables.keys()]}::text[])`,
    );
    const found = await opened.admin.query(keys);
    expect(found.filter(({ byTenant }) => !byTenant)).toEqual([]);
    expect(found.length).toBeGreaterThan(0);
  });

  test("numbers its rows without a sequence, which all tenants would share", async () => {
    const sequences = rows(
      sql`select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('pgrcp', 'pgrcp_state') and c.relkind = 'S'`,
    );
    expect(await opened.admin.query(sequences)).toEqual([]);
  });
});

/** Statements that are meant for all tenants, each of an operator's command or of maintenance. No request runs one. */
const ACROSS: readonly string[] = [
  "audit-delete-old-records",
  "audit-delete-old-versions",
  "compaction-move",
  "compaction-move-out-of-line",
  "compaction-room",
  "feedback-delete-expired-everywhere",
  "idempotency-delete-expired-everywhere",
  "operator-all-corpora",
  "operator-other-space",
  "operator-tenants",
  "partitions-placed-corpora",
  "partitions-unused",
  "ranked-lists-delete-expired-everywhere",
  "retention-horizons",
  "sessions-delete-expired-everywhere",
  "trajectories-delete-expired-everywhere",
];

/** What operators look at has no reviewed text. */
const OF_OPERATORS: Readonly<Record<string, Statement>> = {
  "operator-tenant": operator.selectTenant(ACME),
  "operator-tenants": operator.selectTenants(),
  "operator-language": operator.updateLanguage(ACME, "papers", "german"),
  "operator-corpora": operator.selectCorpora(ACME, "papers"),
  "operator-all-corpora": operator.selectCorpora(undefined),
  "operator-other-space": operator.selectOtherSpace({ identity: "test@2", dimension: 2 }),
  "operator-documents": operator.selectDocuments(ACME, "papers", {
    ...{ source: "feed", quarantined: true, suspected: true, unfit: { field: "year", column: "f_year" } },
  }),
  "operator-document": operator.selectDocument(ACME, "papers", "a"),
  "operator-export": operator.exportDocuments(ACME, "papers"),
  "operator-feedback": operator.selectFeedback(ACME, 10),
};

/** Name no table of tenants: locks, settings, the catalogue, and what makes and mends partitions and indexes. */
const BESIDE: readonly string[] = [
  ...[
    "analyzePartition",
    "createGraph",
    "createPartition",
    "dropIndex",
    "dropPartition",
    "rebuildGraph",
    "selectGraph",
  ],
  ...["reindexPostings", "selectFilterColumn", "sessionSettings", "tryMaintainerLock", "vacuumPostings"],
  "plannedIn", // marks what another makes
  "deleteExpired", // makes the statements of that name of each table, all of which are reviewed
];

type Asked = Pick<Statement, "text" | "values">;

/** A reviewed file: text, then a comment for each value, and what else is said of the statement. */
function reviewed(name: string): Asked {
  const file = readFileSync(new URL(`${name}/statement.sql`, CASES), "utf8");
  const values = file
    .matchAll(/^-- \$\d+ = (.*)$/gm)
    .map(
      ([, value = ""]): SqlValue => (value.startsWith("\\x") ? Buffer.from(value.slice(2), "hex") : JSON.parse(value)),
    );
  return { text: file.replaceAll(/^-- .*\n/gm, ""), values: [...values] };
}

/** Filters are conditions, which stand behind a statement's own. */
const names = readdirSync(CASES).filter((name) => !name.startsWith("filter-"));
const STATEMENTS = new Map<string, Asked>([
  ...names.map((name) => [name, reviewed(name)] as const),
  ...Object.entries(OF_OPERATORS),
]);

/** Tables of tenants that a text names. */
const named = (text: string): string[] =>
  [...new Set(text.match(/\bpgrcp(?:_state)?\.\w+/g))].filter((name) => tables.has(name)).sort();

describe("every statement", () => {
  test.each([...STATEMENTS.keys()].filter((name) => !ACROSS.includes(name)))(
    "%s is confined to its tenant in each table that it names",
    async (name) => {
      const statement = STATEMENTS.get(name) ?? { text: "", values: [] };
      const confinement = await confinementOf(opened.admin, statement, tables, ACME);
      expect(confinement).toEqual({ tables: named(statement.text), loose: [] });
    },
  );

  test.each(ACROSS)("%s is for all tenants", async (name) => {
    const statement = STATEMENTS.get(name) ?? { text: "", values: [] };
    const { loose } = await confinementOf(opened.admin, statement, tables, ACME);
    expect(loose.length).toBeGreaterThan(0);
  });

  test("that is built in src/sql is among them", () => {
    const own = readFileSync(new URL(import.meta.url), "utf8");
    const others = ["statements.test.ts", "postings.test.ts"].map((file) =>
      readFileSync(new URL(file, import.meta.url), "utf8"),
    );
    const isAmong = (name: string): boolean =>
      own.includes(`operator.${name}(`) || others.some((text) => new RegExp(`\\b${name}\\b`).test(text));
    const built = readdirSync(SOURCE)
      .filter((file) => file !== "sql.ts")
      .flatMap((file) => readFileSync(new URL(file, SOURCE), "utf8").split(/^export /m))
      .flatMap((piece) => {
        const name = /^(?:const|function) (\w+)/.exec(piece)?.[1];
        return name !== undefined && /\bcompile\(|\bStatement\b/.test(piece) ? [name] : [];
      });

    expect(built.filter((name) => !isAmong(name)).toSorted()).toEqual(BESIDE.toSorted());
    expect(built.length).toBeGreaterThan(100);
  });
});

describe("what these tests notice", () => {
  const loose = async (text: string) => (await confinementOf(opened.admin, { text, values: [] }, tables, ACME)).loose;
  const ONE = "tenant_id = 'acme' and corpus = 'papers'";

  test.each([
    ["a table without the tenant", "select from pgrcp.documents where corpus = 'papers'", ["pgrcp.documents"]],
    ["another tenant", "select from pgrcp.documents where tenant_id = 'globex'", ["pgrcp.documents"]],
    [
      "a tenant that is only one way to pass",
      "select from pgrcp.documents where tenant_id = 'acme' or corpus = 'papers'",
      ["pgrcp.documents"],
    ],
    [
      "a table that is joined by other columns",
      `select from pgrcp.corpora c join pgrcp.documents d using (corpus) where c.${ONE.replace("corpus", "c.corpus")}`,
      ["pgrcp.documents"],
    ],
    [
      "a sub-select",
      `select from pgrcp.documents where ${ONE} and added_version = (select max(version) from pgrcp.corpus_versions)`,
      ["pgrcp.corpus_versions"],
    ],
    ["a partition", "select from pgrcp.chunks where corpus = 'papers' and placement = 'shared'", ["pgrcp.chunks"]],
    [
      "rows of whoever they are of",
      "insert into pgrcp.tenants (tenant_id) select tenant_id from pgrcp.corpora",
      ["pgrcp.corpora", "pgrcp.tenants"],
    ],
    ["a row of another tenant", "insert into pgrcp.tenants (tenant_id) values ('globex')", ["pgrcp.tenants"]],
    ["what is changed of others", "update pgrcp.corpora set language = 'x' where corpus = 'papers'", ["pgrcp.corpora"]],
  ])("%s", async (_, text, found) => {
    expect(await loose(text)).toEqual(found);
  });

  test("nothing where tables are joined by the tenant, in a common table expression too", async () => {
    const joined = `with one as (select * from pgrcp.documents where ${ONE})
select from one join pgrcp.document_texts t on t.tenant_id = one.tenant_id and t.doc_id = one.doc_id`;
    expect(await loose(joined)).toEqual([]);
  });
});
