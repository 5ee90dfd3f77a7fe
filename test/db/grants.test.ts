import { afterAll, expect, test } from "vitest";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";

const { admin, close } = await openTestDatabase();
afterAll(close);

/** Per table: select, insert, update, delete. A capital is the whole table, a small letter some columns of it, `-` nothing. */
const MATRIX = {
  //                        reader  adder   deleter state
  "pgrcp.tenants": ["S---", "Siu-", "----", "----"],
  "pgrcp.corpora": ["S---", "SIu-", "S-u-", "----"],
  "pgrcp.corpus_versions": ["S---", "sI--", "sI--", "----"],
  "pgrcp.documents": ["S---", "sIu-", "s-u-", "----"],
  "pgrcp.document_texts": ["S---", "-I--", "----", "----"],
  "pgrcp.chunks": ["S---", "sIu-", "s-u-", "----"],
  "pgrcp.chunks_shared": ["----", "----", "----", "----"],
  "pgrcp.postings": ["S---", "SIu-", "----", "----"],
  "pgrcp.revoked_sources": ["----", "S---", "----", "----"],
  "pgrcp.revoked_documents": ["----", "----", "s--D", "----"],
  "pgrcp.idempotency_keys": ["----", "SI-D", "SI-D", "----"],
  "pgrcp_state.sessions": ["----", "----", "----", "SIuD"],
  "pgrcp_state.audit": ["----", "----", "----", "-i--"],
  "pgrcp_state.feedback": ["----", "----", "----", "sI-D"],
  "pgrcp_state.trajectories": ["----", "----", "----", "SIuD"],
  "pgrcp_state.ranked_lists": ["----", "----", "----", "SI-D"],
  "pgrcp_state.cursor_keys": ["----", "----", "----", "SI--"],
  "pgrcp_admin.migrations": ["----", "----", "----", "----"],
  "pgrcp_admin.filter_fields": ["----", "----", "----", "----"],
} as const;
const ROLES = ["pgrcp_reader", "pgrcp_adder", "pgrcp_deleter", "pgrcp_state"] as const;

const letters = (role: string) =>
  compile(
    sql`select n.nspname || '.' || c.relname as name, string_agg(
  case when has_table_privilege(${role}, c.oid, p.verb) then upper(left(p.verb, 1))
    when p.verb <> 'delete' and has_any_column_privilege(${role}, c.oid, p.verb) then left(p.verb, 1) else '-' end, '' order by p.place) as verbs
from pg_class c join pg_namespace n on n.oid = c.relnamespace,
  (values (1, 'select'), (2, 'insert'), (3, 'update'), (4, 'delete')) p (place, verb)
where n.nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin') and c.relkind in ('r', 'p')
group by 1`,
    (row) => [row.name as string, row.verbs as string] as const,
  );

test.each(ROLES)("%s has the rights of the matrix on every table, and no other", async (role) => {
  const column = ROLES.indexOf(role);

  const found = Object.fromEntries(await admin.query(letters(role)));

  expect(found).toEqual(Object.fromEntries(Object.entries(MATRIX).map(([name, rights]) => [name, rights[column]])));
});

test("the deleter reads no column that holds text, title, meta or a vector", async () => {
  const readable = compile(
    sql`select a.attname as name from pg_attribute a
where a.attrelid in ('pgrcp.documents'::regclass, 'pgrcp.chunks'::regclass, 'pgrcp.document_texts'::regclass)
  and a.attnum > 0 and has_column_privilege('pgrcp_deleter', a.attrelid, a.attnum, 'select') order by 1`,
    (row) => row.name as string,
  );

  const names = new Set(await admin.query(readable));

  expect([...names]).toEqual([
    "added_version",
    "chunk_count",
    "chunk_no",
    "corpus",
    "doc_id",
    "ordinal",
    "placement",
    "quarantined",
    "removed_version",
    "tenant_id",
    "terms",
    "text_bytes",
  ]);
});

test("there is no sequence, no SECURITY DEFINER function and no right for everybody", async () => {
  const found = compile(
    sql`select c.relname as name from pg_class c where c.relkind = 'S' and c.relnamespace::regnamespace::text like 'pgrcp%'
union all select p.proname from pg_proc p where p.pronamespace::regnamespace::text like 'pgrcp%'
  and (p.prosecdef or exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0))
union all select n.nspname from pg_namespace n, aclexplode(n.nspacl) a where (n.nspname like 'pgrcp%' or n.nspname = 'public') and a.grantee = 0
union all select d.datname from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datname = current_database() and a.grantee = 0`,
    (row) => row.name as string,
  );

  expect(await admin.query(found)).toEqual([]);
});
