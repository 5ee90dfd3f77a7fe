-- The login roles, the schemas and the rules that later tables share.
--
-- Rules that hold in every migration:
--   * tenant_id leads every key, so no unique violation, foreign key or counter can tell of another tenant.
--   * numbers come from a counter in the tenant's own corpus row, never from a sequence.
--   * no SECURITY DEFINER: triggers run with the caller's rights under the caller's policies.
--   * a table arrives with its policies and its grants; a partition gets policies and no grant at all.

create extension if not exists vector;

-- Roles belong to the cluster, so another database may have made them already.
-- Whoever logs in inherits nothing: pgrcp_operator is the owner only after it says SET ROLE.
do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('pgrcp_owner', 'nologin'),
      ('pgrcp_reader', 'login'),
      ('pgrcp_adder', 'login'),
      ('pgrcp_deleter', 'login'),
      ('pgrcp_state', 'login'),
      ('pgrcp_operator', 'login')) as roles (name, can_login)
  loop
    if not exists (select from pg_roles where rolname = wanted.name) then
      begin
        execute format('create role %I %s noinherit', wanted.name, wanted.can_login);
      exception when duplicate_object or unique_violation then
        null; -- made by another database's migration in the same moment
      end;
    end if;
  end loop;

  if not pg_has_role('pgrcp_operator', 'pgrcp_owner', 'member') then
    grant pgrcp_owner to pgrcp_operator;
  end if;
  -- Since version 16, who makes a role may hand it on and yet not act as it until it is granted to them, too.
  if not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant pgrcp_owner to %I', current_user);
  end if;
end
$$;

-- Settings that no connection may be without. A generic plan warmed on a small tenant is 40 times slower on a large one; the
-- costs were measured without just-in-time compilation; a retrieve's statements see one snapshot and cannot write.
alter role pgrcp_reader set plan_cache_mode = force_custom_plan;
alter role pgrcp_adder set plan_cache_mode = force_custom_plan;
alter role pgrcp_deleter set plan_cache_mode = force_custom_plan;
alter role pgrcp_state set plan_cache_mode = force_custom_plan;
alter role pgrcp_reader set jit = off;
alter role pgrcp_reader set default_transaction_isolation = 'repeatable read';
alter role pgrcp_reader set default_transaction_read_only = on;
-- A plan that is chosen by how a tenant compares with the rest of a table tells of the rest by how long it takes, and flips when
-- somebody else grows. Every statement of a reader has keys that lead with its tenant, and joins by at most some hundred of them.
alter role pgrcp_reader set enable_seqscan = off;
alter role pgrcp_reader set enable_hashjoin = off;
alter role pgrcp_reader set enable_mergejoin = off;
-- A writer holds its corpus's row: one that hangs must not hold it for ever.
alter role pgrcp_adder set idle_in_transaction_session_timeout = '60s';
alter role pgrcp_deleter set idle_in_transaction_session_timeout = '60s';
alter role pgrcp_state set idle_in_transaction_session_timeout = '60s';

-- Values stay out of Postgres's own log, also where it is told to log statements, slow ones or failed ones: a DETAIL line quotes rows
-- and keys, and a plan that was made for its parameters quotes them. Only a superuser may say so, or who was granted it.
do $$
declare
  login name;
  setting record;
begin
  for setting in
    select * from (values
      ('log_error_verbosity', 'terse'),
      ('log_parameter_max_length', '0'),
      ('log_parameter_max_length_on_error', '0'),
      ('auto_explain.log_min_duration', '-1')) as settings (name, value)
  loop
    continue when not has_parameter_privilege(setting.name, 'set');
    foreach login in array array['pgrcp_reader', 'pgrcp_adder', 'pgrcp_deleter', 'pgrcp_state', 'pgrcp_operator'] loop
      execute format('alter role %I set %s = %L', login, setting.name, setting.value);
    end loop;
  end loop;
end
$$;

create schema pgrcp authorization pgrcp_owner;
create schema pgrcp_state authorization pgrcp_owner;
create schema pgrcp_admin authorization pgrcp_owner;

do $$
declare
  extension_schema name;
  login name;
begin
  -- Nobody else connects, and nobody makes temporary tables that could shadow a name.
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to pgrcp_reader, pgrcp_adder, pgrcp_deleter, pgrcp_state, pgrcp_operator',
    current_database());

  -- The vector types live in `public`, or wherever the provider has put the extension.
  select n.nspname into extension_schema
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector';
  execute format('revoke all on schema %I from public', extension_schema);
  execute format('grant usage on schema %I to pgrcp_owner, pgrcp_reader, pgrcp_adder, pgrcp_deleter, pgrcp_operator',
    extension_schema);
  if extension_schema <> 'public' then
    foreach login in array array['pgrcp_reader', 'pgrcp_adder', 'pgrcp_deleter', 'pgrcp_operator'] loop
      execute format('alter role %I in database %I set search_path = %I', login, current_database(), extension_schema);
    end loop;
  end if;
end
$$;

grant usage on schema pgrcp to pgrcp_reader, pgrcp_adder, pgrcp_deleter, pgrcp_operator;
grant usage on schema pgrcp_state to pgrcp_state, pgrcp_operator;
grant usage on schema pgrcp_admin to pgrcp_operator;

set local role pgrcp_owner;

alter default privileges revoke execute on functions from public;
alter default privileges revoke usage on types from public;

-- What ran here, and which filter columns `pgrcp.chunks` has. No tenant, so no policy; no runtime role has usage on the schema.
create table pgrcp_admin.migrations (
  version    integer primary key,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default now()
);

create table pgrcp_admin.filter_fields (
  name     text primary key,
  type     text not null,
  "column" text not null unique,
  ready    boolean not null default false,
  -- where an interrupted back-fill goes on: [tenant_id, corpus, chunk_no] of the last chunk looked at
  position json
);

grant select on pgrcp_admin.migrations, pgrcp_admin.filter_fields to pgrcp_operator;

-- Where a policy ends for a transaction without the credential that its role works with. Parallel safe, because a policy that calls a
-- function that is not would keep its table out of every parallel plan.
create function pgrcp.refuse_credential(credential text) returns text
language plpgsql stable parallel safe set search_path = pg_catalog as $$
begin
  raise insufficient_privilege using message = format('the caller does not hold the %s credential', credential);
end
$$;

grant execute on function pgrcp.refuse_credential to pgrcp_reader, pgrcp_adder, pgrcp_deleter;

-- Where a read ends on a replica that is not far enough for it, before it costs more. The code says why.
create function pgrcp.refuse_read(code text) returns bigint
language plpgsql stable parallel safe set search_path = pg_catalog as $$
begin
  raise exception using errcode = code, message = 'this replica has not replayed what is asked for';
end
$$;

grant execute on function pgrcp.refuse_read to pgrcp_reader;

-- Enables and forces row level security on a tenant table and gives it the policies that every one of them has:
--   <table>_tenant_isolation_<role>  restrictive: holds even when somebody adds a wider permissive policy
--   <table>_tenant_rows_<role>       permissive: lets the tenant's own rows through
--   <table>_operator                 permissive: the operator, and the owner whom FORCE binds too, work across tenants
-- What both ask is one comparison with the tenant, so that the planner knows it equal to what the statement says itself and asks it
-- once, before any row. Tenant and credentials are settings of the transaction. current_setting stays plain: the planner folds it and
-- estimates with it; inside a sub-select it cannot. After a transaction a setting reads '' and not null; both must mean "none". No
-- tenant means no row, and no credential an error.
create function pgrcp_admin.protect_tenant_table(tenant_table regclass, tenant_roles name[]) returns void
language plpgsql set search_path = pg_catalog as $$
declare
  table_name name := (select relname from pg_class where oid = tenant_table);
  tenant_role name;
  suffix text;
  credential text;
  own_rows text;
begin
  execute format('alter table %s enable row level security', tenant_table);
  execute format('alter table %s force row level security', tenant_table);
  foreach tenant_role in array tenant_roles loop
    -- A role that is not listed stops the migration: whoever adds one says what its callers must hold. No name is part of another.
    case tenant_role
      when 'pgrcp_reader' then credential := 'read';
      when 'pgrcp_adder' then credential := 'add';
      when 'pgrcp_deleter' then credential := 'delete';
      when 'pgrcp_state' then credential := null; -- what is kept there is the caller's own, whatever its token is good for
    end case;
    own_rows := $p$nullif(current_setting('pgrcp.tenant_id', true), '')$p$;
    if credential is not null then
      own_rows := format($p$case when current_setting('pgrcp.credentials', true) like %L then %s else pgrcp.refuse_credential(%L) end$p$,
        '%' || credential || '%', own_rows, credential);
    end if;
    own_rows := 'tenant_id = ' || own_rows;
    suffix := substr(tenant_role, length('pgrcp_') + 1);
    execute format('create policy %I on %s as restrictive for all to %I using (%s) with check (%s)',
      table_name || '_tenant_isolation_' || suffix, tenant_table, tenant_role, own_rows, own_rows);
    execute format('create policy %I on %s as permissive for all to %I using (%s) with check (%s)',
      table_name || '_tenant_rows_' || suffix, tenant_table, tenant_role, own_rows, own_rows);
  end loop;
  execute format('create policy %I on %s as permissive for all to pgrcp_operator, pgrcp_owner using (true) with check (true)',
    table_name || '_operator', tenant_table);
end
$$;
