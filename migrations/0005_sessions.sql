-- Sessions, in a schema of their own: the login that holds them has no right of any kind on a corpus.

set local role pgrcp_owner;

create table pgrcp_state.sessions (
  tenant_id    text collate "C" not null check (tenant_id <> ''),
  session_hash bytea not null, -- sha256 of the secret that the client holds
  issuer       text not null,
  subject      text not null,
  client       text not null,
  capabilities text not null,
  log_level    text, -- from which level on the client wants log lines; null = it did not ask for any
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  primary key (tenant_id, session_hash)
);

create index sessions_principal on pgrcp_state.sessions (tenant_id, issuer, subject, client);
create index sessions_expiry on pgrcp_state.sessions (tenant_id, expires_at);

select pgrcp_admin.protect_tenant_table('pgrcp_state.sessions', '{pgrcp_state}');

grant select, insert, delete, update (expires_at) on pgrcp_state.sessions to pgrcp_state;
grant select, insert, update, delete on pgrcp_state.sessions to pgrcp_operator;
