select coalesce(sum(live_documents), 0)::bigint as documents, coalesce(sum(live_text_bytes), 0)::bigint as text_bytes from pgrcp.corpora where tenant_id = $1
-- $1 = "acme"
