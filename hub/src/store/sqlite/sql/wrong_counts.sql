-- Reads all jobs: only for a full check. Counters that differ from a recount, in either direction.
WITH
  counted AS (SELECT queue, type, status, n FROM counts WHERE n <> 0),
  recount AS (SELECT queue, type, status, count(*) AS n FROM jobs GROUP BY queue, type, status)
SELECT
  (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM recount))
  + (SELECT count(*) FROM (SELECT * FROM recount EXCEPT SELECT * FROM counted))
