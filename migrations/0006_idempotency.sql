-- First results of writes that may be sent again (RCP §7.10).

set local role pgrcp_owner;

-- In this schema and not among the server's own state: the row must commit with the write or not at all, so it is written by the
-- login that writes. Whoever else may come to hold that login learns no key and no request from it.
create table pgrcp.idempotency_keys (
  tenant_id    text collate "C" not null,
  issuer       text collate "C" not null,
  subject      text collate "C" not null,
  client       text collate "C" not null,
  credential   text collate "C" not null check (credential in ('add', 'delete')),
  key_hash     bytea not null, -- sha256 of the key
  request_hash bytea not null, -- sha256 of what was asked for, and of which corpus
  result       text not null,  -- JSON
  expires_at   timestamptz not null,
  primary key (tenant_id, issuer, subject, client, credential, key_hash)
);

create index idempotency_keys_expiry on pgrcp.idempotency_keys (tenant_id, expires_at);

select pgrcp_admin.protect_tenant_table('pgrcp.idempotency_keys', '{pgrcp_adder,pgrcp_deleter}');

create policy idempotency_keys_adds_only on pgrcp.idempotency_keys as restrictive for all to pgrcp_adder
  using (credential = 'add') with check (credential = 'add');
create policy idempotency_keys_deletes_only on pgrcp.idempotency_keys as restrictive for all to pgrcp_deleter
  using (credential = 'delete') with check (credential = 'delete');
-- Nobody forgets a key before its time, and then apply its write again.
create policy idempotency_keys_expired_only on pgrcp.idempotency_keys as restrictive for delete to pgrcp_adder, pgrcp_deleter
  using (expires_at <= now());

grant select, insert, delete on pgrcp.idempotency_keys to pgrcp_adder, pgrcp_deleter;
grant select, insert, update, delete on pgrcp.idempotency_keys to pgrcp_operator;
