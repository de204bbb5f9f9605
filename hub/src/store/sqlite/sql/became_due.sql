-- Pending jobs, not due from the start, whose time came after ?1 and up to ?2, by the view they were
-- counted in. Relies on jobs_later: only the rows between the two times are looked at.
SELECT attempt > 0, queue, count(*)
FROM jobs INDEXED BY jobs_later
WHERE lane IS NOT NULL AND run_at > created_at AND run_at > ?1 AND run_at <= ?2
GROUP BY 1, 2
