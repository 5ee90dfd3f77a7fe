import { compile, sql } from "../sql/sql.ts";

/** What any login can read of the database's catalog. Rows come as they are; the checks are elsewhere. */

export interface ServerFacts {
  readonly serverVersion: number;
  readonly encoding: string;
  /** Undefined when pgvector is not installed. */
  readonly vectorVersion: string | undefined;
  /** Undefined when the schema is not there. */
  readonly schemaComment: string | undefined;
}

export const serverFacts = compile(
  sql`select current_setting('server_version_num')::int as server_version,
  current_setting('server_encoding') as encoding,
  (select extversion from pg_extension where extname = 'vector') as vector_version,
  obj_description(to_regnamespace('pgrcp'), 'pg_namespace') as schema_comment`,
  (row): ServerFacts => ({
    serverVersion: row.server_version as number,
    encoding: row.encoding as string,
    vectorVersion: (row.vector_version as string | null) ?? undefined,
    schemaComment: (row.schema_comment as string | null) ?? undefined,
  }),
);

export interface TableFacts {
  readonly table: string;
  readonly partition: boolean;
  readonly secured: boolean;
  /** Someone other than the owner holds a privilege on the table or on a column of it. */
  readonly granted: boolean;
}

export const tableFacts = compile(
  sql`select n.nspname || '.' || c.relname as "table", c.relispartition as partition,
  c.relrowsecurity and c.relforcerowsecurity as secured,
  exists (select from aclexplode(c.relacl) a where a.grantee <> c.relowner)
    or exists (select from pg_attribute t, aclexplode(t.attacl) a where t.attrelid = c.oid and a.grantee <> c.relowner) as granted
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('pgrcp', 'pgrcp_state') and c.relkind in ('r', 'p') order by 1`,
  (row) => row as unknown as TableFacts,
);

/**
 * Every policy and trigger, and every privilege of a server's login, as one line each. Sorted by bytes, so that two databases of any version and
 * locale with the same rights give the same list.
 */
export const rightsFacts = compile(
  sql`select line from (
  select p.schemaname || '.' || p.tablename || ' policy ' || p.policyname || ' ' || lower(p.permissive) || ' for ' || lower(p.cmd)
    || ' to ' || (select string_agg(r, ', ' order by r collate "C") from unnest(p.roles::text[]) r)
    || coalesce(' using ' || p.qual, '') || coalesce(' check ' || p.with_check, '') as line
  from pg_policies p where p.schemaname in ('pgrcp', 'pgrcp_state')
  union all
  select n.nspname || '.' || c.relname || ' grant ' || lower(a.privilege_type) || ' to ' || r.rolname
    || case when a.is_grantable then ' with grant option' else '' end
  from pg_class c join pg_namespace n on n.oid = c.relnamespace, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
  where n.nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin')
    and r.rolname in ('pgrcp_reader', 'pgrcp_adder', 'pgrcp_deleter', 'pgrcp_state')
  union all
  select n.nspname || '.' || c.relname || ' grant ' || lower(a.privilege_type) || ' ('
    || string_agg(t.attname, ', ' order by t.attname collate "C") || ') to ' || r.rolname
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute t on t.attrelid = c.oid,
    aclexplode(t.attacl) a join pg_roles r on r.oid = a.grantee
  where n.nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin')
    and r.rolname in ('pgrcp_reader', 'pgrcp_adder', 'pgrcp_deleter', 'pgrcp_state')
  group by n.nspname, c.relname, a.privilege_type, r.rolname
  union all
  select n.nspname || '.' || c.relname || ' trigger ' || t.tgname || case when t.tgenabled = 'O' then '' else ' disabled' end
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('pgrcp', 'pgrcp_state') and not t.tgisinternal
) facts order by line collate "C"`,
  (row) => row.line as string,
);

export interface ColumnFacts {
  readonly column: string;
  readonly type: string;
  /** Some documents from before the column was added are not in it yet. */
  readonly filling: boolean;
}

export const filterColumnFacts = compile(
  sql`select a.attname as "column", format_type(a.atttypid, a.atttypmod) as type, col_description(a.attrelid, a.attnum) is not null as filling
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'pgrcp' and c.relname = 'chunks' and a.attnum > 0 and not a.attisdropped and starts_with(a.attname, 'f_')`,
  (row) => row as unknown as ColumnFacts,
);

export interface LoginFacts {
  readonly user: string;
  readonly superuser: boolean;
  readonly bypassesRls: boolean;
  /** Owns, itself or through a role, something in our schemas. */
  readonly owns: boolean;
  /** Roles it can act as, other than itself, that give it more than it should have. */
  readonly powers: readonly string[];
  readonly hasRole: boolean;
  readonly isolation: string;
  readonly readOnly: boolean;
  readonly planCacheMode: string;
}

/** @param role the role that this login should be, or be a member of, such as `pgrcp_reader` */
export const loginFacts = (role: string) =>
  compile(
    sql`select current_user::text as "user", me.rolsuper as superuser, me.rolbypassrls as bypasses_rls,
  exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin') and pg_has_role(c.relowner, 'member')) as owns,
  coalesce((select array_agg(r.rolname::text order by r.rolname) from pg_roles r
    where pg_has_role(r.oid, 'member') and r.rolname <> current_user and r.rolname <> ${role}
      and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolname ~ '^(pg|pgrcp)_')), '{}') as powers,
  exists (select from pg_roles r where r.rolname = ${role} and pg_has_role(r.oid, 'usage')) as has_role,
  current_setting('default_transaction_isolation') as isolation,
  current_setting('default_transaction_read_only')::boolean as read_only,
  current_setting('plan_cache_mode') as plan_cache_mode
from pg_roles me where me.rolname = current_user`,
    (row): LoginFacts => ({
      user: row.user as string,
      superuser: row.superuser as boolean,
      bypassesRls: row.bypasses_rls as boolean,
      owns: row.owns as boolean,
      powers: row.powers as string[],
      hasRole: row.has_role as boolean,
      isolation: row.isolation as string,
      readOnly: row.read_only as boolean,
      planCacheMode: row.plan_cache_mode as string,
    }),
  );
