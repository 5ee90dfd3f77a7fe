-- What `corpus_versions` does not say of who did what: refused authorisations, and what operators do besides writing versions.

set local role pgrcp_owner;

-- In this schema because refusals are recorded by the login that has no right on a corpus: whoever is refused need not be good for
-- any other. Records hold who, what and how often, and nothing that a caller asked, wrote or found.
create table pgrcp_state.audit (
  tenant_id   text collate "C" not null check (tenant_id <> ''),
  record_id   uuid not null default gen_random_uuid(),
  recorded_at timestamptz not null default now(),
  action      text not null check (action in ('refuse', 'create-tenant', 'set-quotas', 'create-corpus', 'set-language', 'revoke', 'restore', 'withdraw')),
  issuer      text not null,
  subject     text not null,
  client      text,
  token_id    text,
  method      text,    -- of refused calls
  corpus      text,
  version     bigint,  -- of a corpus: versions before it were withdrawn
  count       bigint not null check (count > 0), -- calls refused, versions withdrawn; otherwise 1
  detail      text,    -- which right was missing, the source that was revoked or restored, the quotas or the language
  primary key (tenant_id, record_id)
);

create index audit_time on pgrcp_state.audit (tenant_id, recorded_at);

select pgrcp_admin.protect_tenant_table('pgrcp_state.audit', '{pgrcp_state}');

-- Append only. A server adds refusals, now and never in another's name but a caller's, and reads nothing. The operator's login
-- adds its own commands. Nobody changes a record, and whatever the configuration says, none goes in its first 30 days.
create policy audit_refusals_only on pgrcp_state.audit as restrictive for insert to pgrcp_state with check (action = 'refuse');
create policy audit_never_changed on pgrcp_state.audit as restrictive for update to pgrcp_operator, pgrcp_owner using (false);
create policy audit_kept on pgrcp_state.audit as restrictive for delete to pgrcp_operator, pgrcp_owner
  using (recorded_at <= now() - interval '30 days');

grant insert (tenant_id, action, issuer, subject, client, token_id, method, corpus, count, detail) on pgrcp_state.audit to pgrcp_state;
grant select, insert, delete on pgrcp_state.audit to pgrcp_operator;
