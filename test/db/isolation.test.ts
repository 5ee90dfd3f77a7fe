import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DatabaseRole } from "../../src/db/database.ts";
import { ErrorCode, RpcError } from "../../src/protocol/errors.ts";
import { compile, identifier, type Sql, type Statement, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase } from "../support/database.ts";
import { limits, rows, run, seed } from "./rows.ts";

const { admin, database, operator, close } = await openTestDatabase();
afterAll(close);

const ROLES = ["reader", "adder", "deleter", "state"] as const satisfies readonly DatabaseRole[];

interface Table {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
}

const tables = await admin.query(
  compile(
    sql`select n.nspname as schema, c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname in ('pgrcp', 'pgrcp_state') and c.relkind in ('r', 'p') group by 1, 2 order by 1, 2`,
    (row) => row as unknown as Table,
  ),
);
const qualified = ({ schema, name }: Table): Sql => sql`${identifier(schema)}.${identifier(name)}`;

beforeAll(async () => {
  await seed(operator, "owner");
  await seed(operator, "stranger");
});

/** What a verb did: how many rows it touched, or that it was refused. Only a right that is missing is a refusal. */
async function attempt(
  role: DatabaseRole,
  tenantId: string,
  statement: Statement<unknown>,
): Promise<number | "refused"> {
  try {
    if (role === "reader") return (await database.read(role, accessTo(tenantId), [statement], limits()))[0].length;
    return await database.write(role, accessTo(tenantId), limits(), async (transaction) => {
      const { length } = await transaction.query(statement);
      return length;
    });
  } catch (error) {
    if (error instanceof RpcError && error.code === ErrorCode.Unauthorized) return "refused";
    // The reader's transactions are read only, whatever it is granted.
    if (role === "reader" && error instanceof RpcError && isReadOnly(error.cause)) return "refused";
    throw error;
  }
}

const isReadOnly = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "25006";

const VERBS = {
  /** With the tenant that the caller asks for, and without: row level security alone must hold. */
  select: ({ table }: Verb) => sql`select 1 from ${table} where tenant_id = 'owner'`,
  "select all": ({ table }: Verb) => sql`select 1 from ${table} where tenant_id <> 'stranger'`,
  update: ({ table, column }: Verb) =>
    sql`update ${table} set ${column} = ${column} where tenant_id = 'owner' returning 1`,
  delete: ({ table }: Verb) => sql`delete from ${table} where tenant_id = 'owner' returning 1`,
  insert: ({ table, columns, row }: Verb) =>
    sql`insert into ${table} (${columns}) select ${columns} from json_populate_record(null::${table}, ${row}::json)`,
} as const;
interface Verb {
  readonly table: Sql;
  readonly column: Sql;
  readonly columns: Sql;
  /** The owner's own row. */
  readonly row: string;
}

/** The columns that somebody may update; elsewhere any will do. */
const UPDATABLE: Readonly<Record<string, string>> = {
  corpora: "version",
  documents: "removed_version",
  chunks: "removed_version",
  postings: "n",
  sessions: "expires_at",
};

describe.each(tables)("$schema.$name", (table) => {
  test("is under row level security, enabled and forced, with a restrictive policy for each role that has a right", async () => {
    const [facts] = await admin.query(
      rows<{ secured: boolean; roles: string[]; policies: string[] }>(
        sql`select c.relrowsecurity and c.relforcerowsecurity as secured,
  array(select r from unnest(${ROLES}::text[]) r where has_any_column_privilege('pgrcp_' || r, c.oid, 'select, insert, update')) as roles,
  array(select p.polname::text from pg_policy p where p.polrelid = c.oid and not p.polpermissive and p.polcmd = '*') as policies
from pg_class c where c.oid = ${`${table.schema}.${table.name}`}::regclass`,
      ),
    );

    expect(facts?.secured).toBe(true);
    expect(facts?.policies).toEqual(
      expect.arrayContaining((facts?.roles ?? []).map((role) => `${table.name}_tenant_isolation_${role}`)),
    );
    expect(facts?.roles.length === 0).toBe(isPartition(table));
  });

  test("has a row that belongs to the owner", async () => {
    const found = await operator.read(
      rows(sql`select 1 from ${isPartition(table) ? sql`pgrcp.chunks` : qualified(table)} where tenant_id = 'owner'`),
    );

    expect(found).toHaveLength(1);
  });

  test.each(ROLES.flatMap((role) => Object.keys(VERBS).map((verb) => ({ role, verb }))))(
    "$role cannot $verb another tenant's row",
    async ({ role, verb }) => {
      const [row] = await admin.query(
        compile(
          sql`select row_to_json(t)::text as row from ${qualified(table)} t where tenant_id = 'owner'`,
          (r) => r.row as string,
        ),
      );
      const statement = VERBS[verb as keyof typeof VERBS]({
        table: qualified(table),
        column: identifier(UPDATABLE[table.name] ?? "tenant_id"),
        columns: sql`${table.columns.map(identifier).reduce((list, column) => sql`${list}, ${column}`)}`,
        row: row ?? "",
      });

      const outcome = await attempt(role, "stranger", run(statement));

      expect(outcome === "refused" || outcome === 0).toBe(true);
      if (verb === "insert") expect(outcome).toBe("refused");
    },
  );

  test.each(ROLES)("%s without a tenant sees no row", async (role) => {
    const outcome = await attempt(role, "", run(sql`select 1 from ${qualified(table)}`));

    expect(outcome === "refused" || outcome === 0).toBe(true);
  });
});

const isPartition = ({ name }: Table): boolean => name === "chunks_shared";

test("every seeded table is a table of the schema, and the other way round", () => {
  expect(tables.map(({ schema, name }) => `${schema}.${name}`)).toEqual([
    "pgrcp.chunks",
    "pgrcp.chunks_shared",
    "pgrcp.corpora",
    "pgrcp.corpus_versions",
    "pgrcp.document_texts",
    "pgrcp.documents",
    "pgrcp.idempotency_keys",
    "pgrcp.postings",
    "pgrcp.revoked_documents",
    "pgrcp.revoked_sources",
    "pgrcp.tenants",
    "pgrcp_state.audit",
    "pgrcp_state.cursor_keys",
    "pgrcp_state.feedback",
    "pgrcp_state.ranked_lists",
    "pgrcp_state.sessions",
    "pgrcp_state.trajectories",
  ]);
});

test("a wider policy that somebody adds opens nothing", async () => {
  await admin.query(run(sql`create policy wide on pgrcp.documents for select to pgrcp_reader using (true)`));

  const [found] = await database.read(
    "reader",
    accessTo("stranger"),
    [rows<{ tenant_id: string }>(sql`select tenant_id from pgrcp.documents`)],
    limits(),
  );

  expect(found).toEqual([{ tenant_id: "stranger" }]);
  await admin.query(run(sql`drop policy wide on pgrcp.documents`));
});

test("each role reads its own tenant's rows", async () => {
  const [[read]] = await database.read(
    "reader",
    accessTo("owner"),
    [rows(sql`select tenant_id, body from pgrcp.document_texts`)],
    limits(),
  );
  const [[state]] = await database.read(
    "state",
    accessTo("owner"),
    [rows(sql`select tenant_id, client from pgrcp_state.sessions`)],
    limits(),
  );

  expect(read).toEqual({ tenant_id: "owner", body: "text" });
  expect(state).toEqual({ tenant_id: "owner", client: "cli" });
});
