select set_config('hnsw.iterative_scan', $1, true), set_config('hnsw.ef_search', $2, true), set_config('enable_sort', 'off', true)
-- $1 = "relaxed_order"
-- $2 = "100"
-- planned once
