import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import type { FieldType, FilterFields } from "../../src/catalog/corpus.ts";
import { checkMeta } from "../../src/plan/check-meta.ts";
import { compile, identifier, joinSql, type Sql, type SqlValue, type Statement, sql } from "../../src/sql/sql.ts";

/** A database with one table of documents and their typed filter columns, for tests of predicates. */
export interface FilterRows {
  readonly name: "pglite" | "postgres";
  /** Ids of the tenant's rows that satisfy each predicate, in order of insertion; one round trip for all of them. */
  matching(tenant: string, predicates: readonly Sql[]): Promise<readonly (readonly string[])[]>;
  query<Row>(statement: Statement<Row>): Promise<readonly Row[]>;
  close(): Promise<void>;
}

export interface FilterRow {
  readonly tenant: string;
  readonly id: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

type Row = Readonly<Record<string, unknown>>;
type Run = (text: string, values: readonly SqlValue[]) => Promise<readonly Row[]>;

const COLUMN_TYPE = {
  keyword: { one: sql`text collate "C"`, list: sql`text[] collate "C"` },
  text: { one: sql`text collate "C"`, list: sql`text[] collate "C"` },
  int: { one: sql`bigint`, list: sql`bigint[]` },
  float: { one: sql`float8`, list: sql`float8[]` },
  bool: { one: sql`boolean`, list: sql`boolean[]` },
  date: { one: sql`bigint`, list: sql`bigint[]` },
} satisfies Record<FieldType, { one: Sql; list: Sql }>;

const LIMITS = { maxMetaBytes: 65_536, maxMetaKeyBytes: 256, maxMetaValueBytes: 8_192, maxMetaDepth: 16 };

/** PGlite always, and the Postgres of PGRCP_TEST_DATABASE_URL when that is set, each with the same rows. */
export async function openFilterRows(fields: FilterFields, rows: readonly FilterRow[]): Promise<readonly FilterRows[]> {
  const databases = [await openPglite()];
  const url = process.env.PGRCP_TEST_DATABASE_URL;
  if (url !== undefined && url !== "") databases.push(await openPostgres(url));
  for (const database of databases) await fill(database, fields, rows);
  return databases;
}

async function openPglite(): Promise<FilterRows> {
  const database = await PGlite.create();
  const run: Run = async (text, values) => (await database.query<Row>(text, [...values])).rows;
  return filterRows("pglite", run, () => database.close());
}

async function openPostgres(url: string): Promise<FilterRows> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const schema = `filter_test_${process.pid}_${Date.now()}`;
  const run: Run = async (text, values) => (await client.query<Row>(text, [...values])).rows;
  await client.query(`create schema ${schema}`);
  await client.query(`set search_path to ${schema}`);
  return filterRows("postgres", run, async () => {
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
  });
}

function filterRows(name: FilterRows["name"], run: Run, close: () => Promise<void>): FilterRows {
  const query = async <Result>({ text, values, decode }: Statement<Result>) => (await run(text, values)).map(decode);
  return {
    name,
    query,
    close,
    async matching(tenant, predicates) {
      const columns = predicates.map(
        (predicate, index) =>
          sql`array(select id from filter_rows where tenant = ${tenant} and ${predicate} order by row_no) as ${identifier(`p${index}`)}`,
      );
      const [row] = await query(compile(sql`select ${joinSql(columns, sql`, `)}`, (row) => row));
      return predicates.map((_, index) => row?.[`p${index}`] as readonly string[]);
    },
  };
}

async function fill(database: FilterRows, fields: FilterFields, rows: readonly FilterRow[]): Promise<void> {
  const all = [...fields.values()];
  const declared = all.map((field) => {
    const type = COLUMN_TYPE[field.type];
    return sql`${identifier(field.column)} ${field.array ? type.list : type.one}`;
  });
  const execute = (statement: Sql) => database.query(compile(statement, (row) => row));
  await execute(sql`create table filter_rows (row_no int, tenant text, id text, ${joinSql(declared, sql`, `)})`);
  for (const [rowNo, { tenant, id, meta }] of rows.entries()) {
    const { columns } = checkMeta(meta, fields, LIMITS, "meta");
    // `as`: a column's list holds one type of scalar, which the union of lists does not say.
    const values = all.map((field) => sql`${(columns.get(field.name) ?? null) as SqlValue}`);
    await execute(sql`insert into filter_rows values (${rowNo}, ${tenant}, ${id}, ${joinSql(values, sql`, `)})`);
  }
}
