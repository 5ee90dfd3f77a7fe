insert into pgrcp_state.trajectories as kept (tenant_id, owner_hash, session_hash, chunk_nos, document_nos, expires_at)
values ($1, $2::bytea, $3::bytea, $4::int[], $5::int[], now() + make_interval(secs => $6::float8))
on conflict (tenant_id, owner_hash, session_hash) do update set
  chunk_nos = (kept.chunk_nos || excluded.chunk_nos)[greatest(1, cardinality(kept.chunk_nos) + cardinality(excluded.chunk_nos) - $7::int):],
  document_nos = (kept.document_nos || excluded.document_nos)[greatest(1, cardinality(kept.document_nos) + cardinality(excluded.document_nos) - $8::int):],
  expires_at = excluded.expires_at
where kept.tenant_id = $9
-- $1 = "acme"
-- $2 = \x0102
-- $3 = \x0304
-- $4 = [7,4]
-- $5 = []
-- $6 = 3600
-- $7 = 9999
-- $8 = 9999
-- $9 = "acme"
