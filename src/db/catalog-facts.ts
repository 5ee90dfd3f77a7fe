import { compile, type Sql, sql } from "../sql/sql.ts";

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
  sql`select n.nspname || '.' || c.relname as "table", c.relispartition or c.relname ~ '^chunks_p_' as partition,
  c.relrowsecurity and c.relforcerowsecurity as secured,
  exists (select from aclexplode(c.relacl) a where a.grantee <> c.relowner)
    or exists (select from pg_attribute t, aclexplode(t.attacl) a where t.attrelid = c.oid and a.grantee <> c.relowner) as granted
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('pgrcp', 'pgrcp_state') and c.relkind in ('r', 'p', 'f') order by 1`,
  (row) => row as unknown as TableFacts,
);

/** A privilege's holder as one word. The owner's rights are its own, and the operator is let through by every policy anyway. */
const holder = sql`coalesce(r.rolname, 'public')`;
const isOther = (owner: Sql): Sql => sql`a.grantee <> ${owner} and r.rolname is distinct from 'pgrcp_operator'`;
/** Postgres breaks some expressions into lines. */
const onOneLine = (expression: Sql): Sql => sql`regexp_replace(${expression}, chr(10) || ' *', ' ', 'g')`;
const grantable = sql`case when a.is_grantable then ' with grant option' else '' end`;

/**
 * Every policy, trigger and function, and every privilege that anybody but the owner and the operator holds, as one line each: what
 * a trigger does is in its function, and a right for everybody is a right of each login. Sorted by bytes, so that two databases of
 * any version and locale with the same rights give the same list.
 */
export const rightsFacts = compile(
  sql`with ours as (select oid, nspname, nspowner, nspacl from pg_namespace where nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin')),
functions as materialized (select f.*, n.nspname from pg_proc f join ours n on n.oid = f.pronamespace)
select line from (
  select p.schemaname || '.' || p.tablename || ' policy ' || p.policyname || ' ' || lower(p.permissive) || ' for ' || lower(p.cmd)
    || ' to ' || (select string_agg(r, ', ' order by r collate "C") from unnest(p.roles::text[]) r)
    || coalesce(' using ' || ${onOneLine(sql`p.qual`)}, '') || coalesce(' check ' || ${onOneLine(sql`p.with_check`)}, '') as line
  from pg_policies p join ours n on n.nspname = p.schemaname
  union all
  select 'schema ' || n.nspname || ' grant ' || lower(a.privilege_type) || ' to ' || ${holder} || ${grantable}
  from ours n, aclexplode(n.nspacl) a left join pg_roles r on r.oid = a.grantee
  where ${isOther(sql`n.nspowner`)}
  union all
  select n.nspname || '.' || c.relname || ' grant ' || lower(a.privilege_type) || ' to ' || ${holder} || ${grantable}
  from pg_class c join ours n on n.oid = c.relnamespace, aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
  where ${isOther(sql`c.relowner`)}
  union all
  select n.nspname || '.' || c.relname || ' grant ' || lower(a.privilege_type) || ' ('
    || string_agg(t.attname, ', ' order by t.attname collate "C") || ') to ' || ${holder} || ${grantable}
  from pg_class c join ours n on n.oid = c.relnamespace join pg_attribute t on t.attrelid = c.oid,
    aclexplode(t.attacl) a left join pg_roles r on r.oid = a.grantee
  where ${isOther(sql`c.relowner`)}
  group by n.nspname, c.relname, a.privilege_type, a.grantee, a.is_grantable, r.rolname
  union all
  select n.nspname || '.' || c.relname || ' trigger ' || t.tgname || case when t.tgenabled = 'O' then '' else ' disabled' end
    || ' calls ' || f.pronamespace::regnamespace || '.' || f.proname || ' as ' || split_part(pg_get_triggerdef(t.oid), ' EXECUTE FUNCTION ', 1)
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join ours n on n.oid = c.relnamespace join pg_proc f on f.oid = t.tgfoid
  where not t.tgisinternal
  union all
  select f.nspname || '.' || f.proname || ' function (' || pg_get_function_identity_arguments(f.oid) || ') ' || l.lanname
    || case when f.prosecdef then ' security definer' else '' end || coalesce(' set ' || array_to_string(f.proconfig, ', '), '')
    || ' md5 ' || md5(f.prosrc)
  from functions f join pg_language l on l.oid = f.prolang
  union all
  select f.nspname || '.' || f.proname || ' grant ' || lower(a.privilege_type) || ' to ' || ${holder} || ${grantable}
  from functions f, aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
    left join pg_roles r on r.oid = a.grantee
  where ${isOther(sql`f.proowner`)}
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
  /** Attributes of its own that no login of the server needs. */
  readonly attributes: readonly string[];
  /** Owns, itself or through a role, something in our schemas. */
  readonly owns: boolean;
  /** Roles it can act as, other than itself, that give it more than it should have. */
  readonly powers: readonly string[];
  readonly hasRole: boolean;
  /** As they are on this connection, by name; null = Postgres does not know it. */
  readonly settings: Readonly<Record<string, string | null>>;
}

/**
 * @param role the role that this login should be, or be a member of, such as `pgrcp_reader`
 * @param settings names of the settings to read
 */
export const loginFacts = (role: string, settings: readonly string[]) =>
  compile(
    sql`select current_user::text as "user", me.rolsuper as superuser, me.rolbypassrls as bypasses_rls,
  array_remove(array[case when me.rolcreaterole then 'CREATEROLE' end, case when me.rolcreatedb then 'CREATEDB' end,
    case when me.rolreplication then 'REPLICATION' end], null) as attributes,
  exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin') and pg_has_role(c.relowner, 'member')) as owns,
  coalesce((select array_agg(r.rolname::text order by r.rolname) from pg_roles r
    where pg_has_role(r.oid, 'member') and r.rolname <> current_user and r.rolname <> ${role}
      and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolname ~ '^(pg|pgrcp)_')), '{}') as powers,
  exists (select from pg_roles r where r.rolname = ${role} and pg_has_role(r.oid, 'usage')) as has_role,
  coalesce((select json_object_agg(name, current_setting(name, true)) from unnest(${settings}::text[]) as name), '{}') as settings
from pg_roles me where me.rolname = current_user`,
    (row): LoginFacts => ({
      user: row.user as string,
      superuser: row.superuser as boolean,
      bypassesRls: row.bypasses_rls as boolean,
      attributes: row.attributes as string[],
      owns: row.owns as boolean,
      powers: row.powers as string[],
      hasRole: row.has_role as boolean,
      settings: row.settings as LoginFacts["settings"],
    }),
  );
