select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1, true), set_config('enable_sort', 'off', true)
-- $1 = "100"
-- planned once
