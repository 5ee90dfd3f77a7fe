import { compile, type Sql, sql } from "../sql/sql.ts";

/** Ways around the policies that no policy, grant or trigger of our own schemas shows. Any login can read them. */

const isOurs = (schema: Sql): Sql => sql`${schema}.nspname in ('pgrcp', 'pgrcp_state')`;
const tenantTables = sql`tables as (
  select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${isOurs(sql`n`)} and c.relkind in ('r', 'p', 'f'))`;
const name = sql`format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))`;
const isOfExtension = sql`exists (
  select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`;
const mayCall = sql`has_schema_privilege(u.oid, p.pronamespace, 'usage') and has_function_privilege(u.oid, p.oid, 'execute')`;

export interface DefinerFacts {
  readonly routine: string;
  readonly owner: string;
  /** The logins that may call it, joined. */
  readonly callers: string;
}

/**
 * Routines that a login may call and that run with the rights of an owner whom the policies let see or change other rows than the
 * login's own. A trigger's function cannot be called, and what an extension brings is its maker's.
 *
 * @param users the server's logins
 */
export const definerFacts = (users: readonly string[]) =>
  compile(
    sql`with ${tenantTables}
select ${name} as routine, o.rolname::text as owner, string_agg(u.rolname, ', ' order by u.rolname) as callers
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_roles o on o.oid = p.proowner
  join pg_roles u on u.rolname = any (${users}::text[]) and u.oid <> o.oid
where p.prosecdef and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
  and n.nspname not in ('pg_catalog', 'information_schema') and not ${isOfExtension} and ${mayCall}
  and (o.rolsuper
    or (o.rolbypassrls or exists (select from pg_roles g where g.rolname ~ '^pgrcp_' and pg_has_role(o.oid, g.oid, 'usage')))
      and exists (select from tables t where has_any_column_privilege(o.oid, t.oid, 'select, insert, update')
        or has_table_privilege(o.oid, t.oid, 'delete, truncate')))
group by 1, 2 order by 1`,
    (row) => row as unknown as DefinerFacts,
  );

export interface ViewFacts {
  readonly view: string;
  readonly materialized: boolean;
  /** One of the logins may use it. */
  readonly inReach: boolean;
}

/** Views that read a tenant table, directly or through others, with the rights of their owner and not of who asks. */
export const viewFacts = (users: readonly string[]) =>
  compile(
    sql`with recursive ${tenantTables},
readers as (
  select oid from tables
  union
  select r.ev_class from readers join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = readers.oid
    join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid)
select format('%I.%I', n.nspname, c.relname) as view, c.relkind = 'm' as materialized,
  exists (select from pg_roles u where u.rolname = any (${users}::text[]) and has_schema_privilege(u.oid, n.oid, 'usage')
    and has_any_column_privilege(u.oid, c.oid, 'select, insert, update')) as in_reach
from readers join pg_class c on c.oid = readers.oid join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('v', 'm') and not coalesce((
  select option_value::boolean from pg_options_to_table(c.reloptions) where option_name = 'security_invoker'), false)
order by 1`,
    (row): ViewFacts => ({
      view: row.view as string,
      materialized: row.materialized as boolean,
      inReach: row.in_reach as boolean,
    }),
  );

export interface StrayFacts {
  readonly child: string;
  readonly parent: string;
}

/** Partitions and children that cross the border of our schemas: asked through the parent, a child's own policies are not asked. */
export const strayFacts = compile(
  sql`select format('%I.%I', n.nspname, c.relname) as child, format('%I.%I', parent_n.nspname, parent.relname) as parent
from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_class parent on parent.oid = i.inhparent join pg_namespace parent_n on parent_n.oid = parent.relnamespace
where c.relkind in ('r', 'p', 'f') and (${isOurs(sql`n`)}) <> (${isOurs(sql`parent_n`)}) order by 1`,
  (row) => row as unknown as StrayFacts,
);

export interface LeakproofFacts {
  readonly routine: string;
  /** The server's own statements call it. */
  readonly used: boolean;
}

/**
 * Functions that a superuser has marked leakproof, so that the planner may run them on rows before a policy has judged those: the
 * ones that Postgres and pgvector do not mark and our statements use, and others that a login may call.
 */
export const leakproofFacts = (users: readonly string[]) =>
  compile(
    sql`select routine, used from (
  select ${name} as routine, n.nspname in ('pgrcp', 'pgrcp_state', 'pgrcp_admin')
    or n.nspname = 'pg_catalog' and p.proname in ('textlike', 'strpos', 'arraycontains', 'arrayoverlap')
    or exists (select from pg_depend d join pg_extension e on d.refclassid = 'pg_extension'::regclass and e.oid = d.refobjid
      where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e' and e.extname = 'vector') as used,
    p.oid >= 16384 and not ${isOfExtension}
      and exists (select from pg_roles u where u.rolname = any (${users}::text[]) and ${mayCall}) as in_reach
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proleakproof) marked
where used or in_reach order by routine`,
    (row) => row as unknown as LeakproofFacts,
  );
