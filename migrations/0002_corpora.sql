-- Tenants, their corpora and the versions of each corpus.

set local role pgrcp_owner;

create table pgrcp.tenants (
  tenant_id      text collate "C" primary key check (tenant_id <> ''),
  created_at     timestamptz not null default now(),
  own_quotas     boolean not null default false,           -- these stand in for those of the configuration; null = no limit
  max_documents  bigint check (max_documents >= 0),
  max_text_bytes bigint check (max_text_bytes >= 0),
  check (own_quotas or (max_documents is null and max_text_bytes is null))
);

select pgrcp_admin.protect_tenant_table('pgrcp.tenants', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}');

grant select on pgrcp.tenants to pgrcp_reader;
-- A tenant's first valid write creates it, with no quotas of its own. Who adds under a quota locks the row, which asks for the right to
-- change a column: the policies leave this one no other value than the one it has.
grant select, insert (tenant_id), update (tenant_id) on pgrcp.tenants to pgrcp_adder;
grant select, insert, update, delete on pgrcp.tenants to pgrcp_operator;

-- One row per corpus. Its row lock puts the corpus's writers one behind the other, and its counters number versions and chunks.
create table pgrcp.corpora (
  tenant_id      text collate "C" not null references pgrcp.tenants,
  corpus         text collate "C" not null check (corpus <> ''),
  language       text not null,
  model_identity text not null,
  dimension      integer not null check (dimension > 0),
  screening      text not null check (screening in ('flag', 'quarantine', 'refuse')),
  placement      text collate "C" not null default 'shared',                   -- the partition that its chunks are in or move to
  moving_from    text collate "C",                                             -- where some of them still are, while they move
  graph_chunks   bigint check (graph_chunks >= 0),                             -- those that its graph was built over; null = no graph
  graph_next_chunk integer check (graph_next_chunk >= 0),                      -- next_chunk then: what came later was added to it
  version        bigint not null default 0 check (version >= 0),               -- the last committed version
  next_chunk     integer not null default 0 check (next_chunk >= 0),           -- the next free chunk number
  live_documents bigint not null default 0 check (live_documents >= 0),
  live_text_bytes bigint not null default 0 check (live_text_bytes >= 0),      -- of live documents, in UTF-8
  live_chunks    bigint not null default 0 check (live_chunks >= 0),           -- N of BM25
  live_length    bigint not null default 0 check (live_length >= 0),           -- terms in live chunks; / N = BM25's average length
  created_at     timestamptz not null default now(),
  primary key (tenant_id, corpus),
  check (moving_from <> placement),
  check ((graph_chunks is null) = (graph_next_chunk is null))
);

select pgrcp_admin.protect_tenant_table('pgrcp.corpora', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}');

grant select on pgrcp.corpora to pgrcp_reader, pgrcp_adder, pgrcp_deleter;
grant insert on pgrcp.corpora to pgrcp_adder;
grant update (version, next_chunk, live_documents, live_text_bytes, live_chunks, live_length) on pgrcp.corpora to pgrcp_adder;
grant update (version, live_documents, live_text_bytes, live_chunks, live_length) on pgrcp.corpora to pgrcp_deleter;
grant select, insert, update, delete on pgrcp.corpora to pgrcp_operator;

-- One row per committed write: the audit trail, the list of snapshots, and BM25's N and average length as of that version.
create table pgrcp.corpus_versions (
  tenant_id      text collate "C" not null,
  corpus         text collate "C" not null,
  version        bigint not null check (version > 0),
  token          text collate "C",          -- what the client sees as indexVersion; null once the version is collected
  committed_at   timestamptz not null default now(),
  issuer         text not null,
  subject        text not null,
  token_id       text,
  action         text not null check (action in ('add', 'delete', 'revoke', 'restore', 'purge', 'quarantine', 'release')),
  documents      bigint not null default 0, -- how many documents the write was about
  live_documents bigint not null,
  live_chunks    bigint not null,
  live_length    bigint not null,
  next_chunk     integer not null,          -- chunks added later have this number or a higher one
  primary key (tenant_id, corpus, version),
  unique (tenant_id, corpus, token),
  foreign key (tenant_id, corpus) references pgrcp.corpora
);

select pgrcp_admin.protect_tenant_table('pgrcp.corpus_versions', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}');

-- A credential records only its own kind of version.
create policy corpus_versions_adds_only on pgrcp.corpus_versions as restrictive for insert to pgrcp_adder
  with check (action = 'add');
create policy corpus_versions_deletes_only on pgrcp.corpus_versions as restrictive for insert to pgrcp_deleter
  with check (action = 'delete');

grant select on pgrcp.corpus_versions to pgrcp_reader;
grant insert on pgrcp.corpus_versions to pgrcp_adder, pgrcp_deleter;
grant select (tenant_id, corpus, version, token, live_documents, live_chunks, live_length, next_chunk)
  on pgrcp.corpus_versions to pgrcp_adder, pgrcp_deleter;
grant select, insert, update (token), delete on pgrcp.corpus_versions to pgrcp_operator;

-- It is an audit record, too: nobody writes over who did what, and only what can no longer be asked for and is old goes.
create policy corpus_versions_kept on pgrcp.corpus_versions as restrictive for delete to pgrcp_operator, pgrcp_owner
  using (token is null and committed_at <= now() - interval '30 days');
