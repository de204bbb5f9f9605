-- Live jobs whose lease, preparation or runtime may be over. Relies on jobs_live: there are only
-- as many rows as jobs being worked on. ?1 monotonic now, ?2 preparation limit, ?3 how many,
-- ?4 the least that the hub waits beyond a runtime limit.
SELECT seq
FROM jobs INDEXED BY jobs_live
WHERE status IN (1, 2)
  AND (lease_until <= ?1
    OR (status = 1 AND ?1 - lease_granted > ?2)
    OR (status = 2 AND max_runtime_ms IS NOT NULL AND ?1 - lease_started > max_runtime_ms + max(max_runtime_ms / 4, ?4)))
LIMIT ?3
