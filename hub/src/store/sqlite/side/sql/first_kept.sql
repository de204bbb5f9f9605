-- The first chunk that starts at ?2 or later, else the last one, by log_chunk_by_place.
SELECT coalesce(
    (SELECT at FROM log_chunk WHERE log = ?1 AND at >= ?2 ORDER BY at LIMIT 1),
    (SELECT at FROM log_chunk WHERE log = ?1 ORDER BY at DESC LIMIT 1))
