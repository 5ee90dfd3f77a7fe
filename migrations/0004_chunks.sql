-- What is searched: chunks with their vectors, and the postings of BM25.

set local role pgrcp_owner;

-- Narrow, so that an exact scan reads few pages and closing a version copies little. The vector's length belongs to the corpus;
-- an index on a tenant's own partition casts to it. `pgrcp migrate` adds one typed column per filter field.
create table pgrcp.chunks (
  tenant_id       text collate "C" not null,
  corpus          text collate "C" not null,
  placement       text collate "C" not null,
  chunk_no        integer not null check (chunk_no >= 0), -- unique in the corpus, from corpora.next_chunk
  doc_id          text collate "C" not null,
  ordinal         integer not null,                       -- the n of docId#n
  added_version   bigint not null,
  removed_version bigint,                                 -- null = live
  terms           integer not null check (terms >= 0),    -- the chunk's length for BM25
  start_offset    integer not null check (start_offset >= 0),
  end_offset      integer not null,
  fingerprint     bit(128),                               -- near-duplicates differ in few bits; null = of few words, near to none
  embedding       halfvec not null,
  primary key (tenant_id, corpus, chunk_no, placement),
  check (removed_version > added_version),
  check (end_offset >= start_offset)
) partition by list (placement);

-- In the row: halfvec's default storage would move the vector out of it beside a wide column.
alter table pgrcp.chunks alter column embedding set storage plain;

create index chunks_live_doc on pgrcp.chunks (tenant_id, corpus, doc_id) where removed_version is null;
create index chunks_closed on pgrcp.chunks (tenant_id, corpus, removed_version) include (chunk_no, placement)
  where removed_version is not null;

-- No default partition: attaching a new one would have to scan it.
create table pgrcp.chunks_shared partition of pgrcp.chunks for values in ('shared');

-- Closed rows must go before they outnumber the live ones.
alter table pgrcp.chunks_shared set (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- A partition does not take its parent's policies, so it has its own; and nobody is granted anything on it.
select pgrcp_admin.protect_tenant_table('pgrcp.chunks', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}');
select pgrcp_admin.protect_tenant_table('pgrcp.chunks_shared', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}');

create policy chunks_close_once on pgrcp.chunks as restrictive for update to pgrcp_adder, pgrcp_deleter
  using (removed_version is null) with check (removed_version is not null);
create policy chunks_arrive_open on pgrcp.chunks as restrictive for insert to pgrcp_adder
  with check (removed_version is null);

-- As for documents, but once per statement: a write closes documents, inserts documents, closes chunks, inserts chunks.
create function pgrcp.chunks_are_replaced() returns trigger
language plpgsql set search_path = pg_catalog, pgrcp as $$
begin
  if pg_has_role('pgrcp_deleter', 'usage') or pg_has_role('pgrcp_operator', 'usage') or pg_has_role('pgrcp_owner', 'usage') then
    return null;
  end if;
  if exists (
    select from (select distinct tenant_id, corpus, doc_id, removed_version from closed) c
    where not exists (
      select from documents d
      where d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.doc_id = c.doc_id
        and d.added_version = c.removed_version))
  then
    raise insufficient_privilege using message = 'an adder may close chunks only of a document it replaces';
  end if;
  return null;
end
$$;

create trigger chunks_replaced after update on pgrcp.chunks referencing new table as closed
  for each statement execute function pgrcp.chunks_are_replaced();

grant select on pgrcp.chunks to pgrcp_reader;
grant insert on pgrcp.chunks to pgrcp_adder;
grant select (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, removed_version, terms),
  update (removed_version) on pgrcp.chunks to pgrcp_adder, pgrcp_deleter;
grant select, insert, update, delete on pgrcp.chunks to pgrcp_operator;

-- BM25: per term one block for every 4096 chunk numbers (block = chunk_no >> 12). A posting is a big-endian uint32: offset in the
-- block (12 bits), term frequency (8), chunk length in terms (12); `wide` holds what does not fit. n repeats their number, so that
-- counting does not fetch the block. Closed chunks stay in their blocks until retention; readers leave them out.
create table pgrcp.postings (
  tenant_id text collate "C" not null,
  corpus    text collate "C" not null,
  term      text collate "C" not null,
  block     integer not null check (block >= 0),
  n         integer not null,
  packed    bytea not null check (octet_length(packed) = 4 * n),
  wide      bytea not null default '',
  primary key (tenant_id, corpus, term, block)
);

-- Packed integers do not compress. Room on the page lets a block grow in place. In the row as long as that fits on a page: fetching
-- blocks of 5 kB from out of line is half of what reading a common term costs.
alter table pgrcp.postings alter column packed set storage external;
alter table pgrcp.postings set (
  toast_tuple_target = 8160, fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

select pgrcp_admin.protect_tenant_table('pgrcp.postings', '{pgrcp_reader,pgrcp_adder}');

-- Postings are what sparse search finds documents by, so whoever may write over them may make documents vanish. Only retention
-- removes some; a writer of any name appends. (n follows packed: see the check.) The condition is the trigger's own, so an honest
-- write calls no function: two comparisons of bytes a row.
create function pgrcp.postings_only_grow() returns trigger
language plpgsql set search_path = pg_catalog, pgrcp as $$
begin
  if pg_has_role('pgrcp_operator', 'usage') or pg_has_role('pgrcp_owner', 'usage') then
    return new;
  end if;
  raise insufficient_privilege using message = 'postings are appended to and never written over';
end
$$;

create trigger postings_grow before update on pgrcp.postings for each row
  when (substr(new.packed, 1, octet_length(old.packed)) <> old.packed or substr(new.wide, 1, octet_length(old.wide)) <> old.wide)
  execute function pgrcp.postings_only_grow();

grant select on pgrcp.postings to pgrcp_reader;
grant select, insert, update (n, packed, wide) on pgrcp.postings to pgrcp_adder; -- appending reads the old block
grant select, insert, update, delete on pgrcp.postings to pgrcp_operator;
