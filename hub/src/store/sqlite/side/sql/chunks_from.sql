-- The chunk that holds the byte ?2 and those after it, by log_chunk_by_place.
SELECT at, bytes
FROM log_chunk
WHERE log = ?1
  AND at >= (SELECT at FROM log_chunk WHERE log = ?1 AND at <= ?2 ORDER BY at DESC LIMIT 1)
ORDER BY at
