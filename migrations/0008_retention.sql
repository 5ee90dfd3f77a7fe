-- Versions are kept for a while and then collected.

set local role pgrcp_owner;

-- A collected version keeps its row, which is the audit trail, and loses its token, so that nobody can ask for it any more.
alter table pgrcp.corpus_versions alter column token drop not null;
