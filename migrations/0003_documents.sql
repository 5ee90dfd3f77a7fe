-- Documents, one row per version of each, and their texts.

set local role pgrcp_owner;

create table pgrcp.documents (
  tenant_id           text collate "C" not null,
  corpus              text collate "C" not null,
  doc_id              text collate "C" not null,
  added_version       bigint not null,
  removed_version     bigint, -- null = live
  title               text,
  uri                 text,
  language            text,
  source              text not null,
  issuer              text not null,
  subject             text not null,
  token_id            text,
  trust               text not null check (trust in ('trusted', 'community', 'untrusted')),
  injection_suspected boolean not null,
  quarantined         boolean not null, -- kept for the operator; has no chunks, so no retrieve finds it
  meta                json not null,    -- json, not jsonb: kept byte for byte
  chunk_count         integer not null check (chunk_count >= 0),
  text_bytes          bigint not null default 0 check (text_bytes >= 0), -- of the body, in UTF-8
  written_at          timestamptz not null default now(),
  primary key (tenant_id, corpus, doc_id, added_version),
  check (removed_version > added_version)
);

create unique index documents_live on pgrcp.documents (tenant_id, corpus, doc_id) where removed_version is null;
create index documents_closed on pgrcp.documents (tenant_id, corpus, removed_version) where removed_version is not null;

select pgrcp_admin.protect_tenant_table('pgrcp.documents', '{pgrcp_reader,pgrcp_adder,pgrcp_deleter}');

-- A version is closed once: an open row may become closed, and nothing else. Otherwise the right to close would be the right to
-- bring deleted documents back.
create policy documents_close_once on pgrcp.documents as restrictive for update to pgrcp_adder, pgrcp_deleter
  using (removed_version is null) with check (removed_version is not null);
-- A document that arrives closed could stand in for a replacement and so delete what it names.
create policy documents_arrive_open on pgrcp.documents as restrictive for insert to pgrcp_adder
  with check (removed_version is null);

-- The adder closes only what it replaces; column grants cannot say that. Who may close without replacing is listed, so that any
-- other login is held to it. Checked at commit, because a document is closed before its replacement is inserted (one live row each).
-- The early return stands alone: an expression is checked for privileges as a whole, and the deleter reads less than this asks.
create function pgrcp.document_is_replaced() returns trigger
language plpgsql set search_path = pg_catalog, pgrcp as $$
begin
  if pg_has_role('pgrcp_deleter', 'usage') or pg_has_role('pgrcp_operator', 'usage') or pg_has_role('pgrcp_owner', 'usage') then
    return null;
  end if;
  if not exists (
    select from documents d
    where d.tenant_id = new.tenant_id and d.corpus = new.corpus and d.doc_id = new.doc_id
      and d.added_version = new.removed_version)
  then
    raise insufficient_privilege using message = 'an adder may close a document only by replacing it';
  end if;
  return null;
end
$$;

create constraint trigger documents_replaced after update of removed_version on pgrcp.documents
  deferrable initially deferred for each row execute function pgrcp.document_is_replaced();

-- UPDATE … WHERE needs SELECT on the columns it names, and on no others.
grant select on pgrcp.documents to pgrcp_reader;
grant insert on pgrcp.documents to pgrcp_adder;
grant select (tenant_id, corpus, doc_id, added_version, removed_version, quarantined, chunk_count, text_bytes),
  update (removed_version) on pgrcp.documents to pgrcp_adder, pgrcp_deleter;
grant select, insert, update, delete on pgrcp.documents to pgrcp_operator;

alter table pgrcp.documents set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The text, once. A chunk's text is a piece of it: substr(body, start_offset + 1, end_offset - start_offset).
create table pgrcp.document_texts (
  tenant_id     text collate "C" not null,
  corpus        text collate "C" not null,
  doc_id        text collate "C" not null,
  added_version bigint not null,
  body          text not null,
  contexts      json, -- a list: what situates each chunk in the document, by its ordinal; null = no contexts were asked for
  primary key (tenant_id, corpus, doc_id, added_version)
);

select pgrcp_admin.protect_tenant_table('pgrcp.document_texts', '{pgrcp_reader,pgrcp_adder}');

grant select on pgrcp.document_texts to pgrcp_reader;
grant insert on pgrcp.document_texts to pgrcp_adder;
grant select, insert, update, delete on pgrcp.document_texts to pgrcp_operator;

-- Sources that an operator has revoked: nothing they wrote is in an answer, and they write nothing more.
create table pgrcp.revoked_sources (
  tenant_id  text collate "C" not null references pgrcp.tenants,
  source     text collate "C" not null,
  revoked_at timestamptz not null default now(),
  primary key (tenant_id, source)
);

select pgrcp_admin.protect_tenant_table('pgrcp.revoked_sources', '{pgrcp_adder}');

grant select on pgrcp.revoked_sources to pgrcp_adder;
grant select, insert, update, delete on pgrcp.revoked_sources to pgrcp_operator;

-- Documents that a revocation closed, which are kept past retention so that restoring their source opens them again. Whoever deletes
-- an id takes what is kept of it along, or a restore would bring a deleted document back.
create table pgrcp.revoked_documents (
  tenant_id       text collate "C" not null,
  corpus          text collate "C" not null,
  doc_id          text collate "C" not null,
  added_version   bigint not null,
  source          text not null,
  revoked_version bigint not null, -- the removed_version of the document and its chunks
  primary key (tenant_id, corpus, doc_id, added_version)
);

select pgrcp_admin.protect_tenant_table('pgrcp.revoked_documents', '{pgrcp_deleter}');

grant select (tenant_id, corpus, doc_id), delete on pgrcp.revoked_documents to pgrcp_deleter;
grant select, insert, update, delete on pgrcp.revoked_documents to pgrcp_operator;
