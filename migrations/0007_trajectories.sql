-- What a caller's trajectories were shown, the ranked lists that its cursors walk, and the keys that sign the cursors.

set local role pgrcp_owner;

-- Unlogged: a crash empties it, and then a trajectory is a new one, which its sessionId never was more than a hint at.
create unlogged table pgrcp_state.trajectories (
  tenant_id    text collate "C" not null check (tenant_id <> ''),
  owner_hash   bytea not null,   -- sha256 of issuer, subject and client
  session_hash bytea not null,   -- sha256 of the corpus and the caller's sessionId
  chunk_nos    integer[] not null, -- chunks that were hits, the last ones at the end
  document_nos integer[] not null, -- documents that were hits as a whole, each by the number of its first chunk
  expires_at   timestamptz not null,
  primary key (tenant_id, owner_hash, session_hash)
);

create index trajectories_expiry on pgrcp_state.trajectories (tenant_id, expires_at);
create index trajectories_owner on pgrcp_state.trajectories (tenant_id, owner_hash, expires_at);

select pgrcp_admin.protect_tenant_table('pgrcp_state.trajectories', '{pgrcp_state}');

grant select, insert, delete, update (chunk_nos, document_nos, expires_at) on pgrcp_state.trajectories to pgrcp_state;
grant select, insert, update, delete on pgrcp_state.trajectories to pgrcp_operator;

-- Unlogged: a crash empties it, and then its cursors have expired.
create unlogged table pgrcp_state.ranked_lists (
  tenant_id     text collate "C" not null check (tenant_id <> ''),
  list_id       bytea not null,
  owner_hash    bytea not null,   -- sha256 of issuer, subject and client
  index_version text not null,    -- the token of the version that it is of
  candidates    integer not null, -- chunks that recall found
  entries       bytea not null,   -- 40 bytes a place: chunk number, score, dense, sparse, rerank
  expires_at    timestamptz not null,
  primary key (tenant_id, list_id)
);

-- Doubles do not compress.
alter table pgrcp_state.ranked_lists alter column entries set storage external;

create index ranked_lists_expiry on pgrcp_state.ranked_lists (tenant_id, expires_at);
create index ranked_lists_owner on pgrcp_state.ranked_lists (tenant_id, owner_hash, expires_at);

select pgrcp_admin.protect_tenant_table('pgrcp_state.ranked_lists', '{pgrcp_state}');

grant select, insert, delete on pgrcp_state.ranked_lists to pgrcp_state;
grant select, insert, update, delete on pgrcp_state.ranked_lists to pgrcp_operator;

-- A key of each tenant's own, so that every server process of one database reads every other's cursors and none reads another
-- tenant's. Made by the tenant's first cursor.
create table pgrcp_state.cursor_keys (
  tenant_id text collate "C" primary key check (tenant_id <> ''),
  key       bytea not null check (octet_length(key) = 32)
);

select pgrcp_admin.protect_tenant_table('pgrcp_state.cursor_keys', '{pgrcp_state}');

grant select, insert on pgrcp_state.cursor_keys to pgrcp_state;
grant select, insert, update, delete on pgrcp_state.cursor_keys to pgrcp_operator;
