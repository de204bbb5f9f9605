-- Due times up to here are no longer counted as ahead.
ALTER TABLE position ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;

-- When the job became due for the attempt that ended; null for attempts of before this version.
ALTER TABLE history ADD COLUMN due_at INTEGER;

-- Pending jobs that were not due from the start, by when they are.
CREATE INDEX jobs_later ON jobs (run_at) WHERE lane IS NOT NULL AND run_at > created_at;

-- What a worker did, by when it was done.
CREATE INDEX jobs_done_by ON jobs (lease_worker, finished_at)
WHERE finished_at IS NOT NULL AND lease_worker IS NOT NULL;

-- How many jobs are in each view that is no status, as of `position.settled`.
-- view: 0 scheduled, 1 retrying, 4 cancelled.
CREATE TABLE views (
  view  INTEGER NOT NULL,
  queue TEXT NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (view, queue)
) WITHOUT ROWID;

-- What came to an end. span: 60000 each minute of the last hours, by queue; 86400000 each UTC day,
-- and 0 since the beginning, for all queues together (queue is '').
CREATE TABLE flow (
  span            INTEGER NOT NULL,
  ts              INTEGER NOT NULL,
  queue           TEXT NOT NULL,
  completed       INTEGER NOT NULL,
  failed          INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL,
  PRIMARY KEY (span, ts, queue)
) WITHOUT ROWID;

INSERT INTO views
SELECT CASE WHEN status = 4 THEN 4 WHEN attempt > 0 THEN 1 ELSE 0 END, queue, count(*)
FROM jobs
WHERE (lane IS NOT NULL AND run_at > created_at) OR (status = 4 AND fail_reason = 'cancelled')
GROUP BY 1, 2;

INSERT INTO flow
SELECT 86400000, finished_at - finished_at % 86400000, '', sum(status = 3), sum(status IN (4, 5)), 0
FROM jobs
WHERE finished_at IS NOT NULL
GROUP BY 2;

INSERT INTO flow
SELECT 0, 0, '', ifnull(sum(completed), 0), ifnull(sum(failed), 0),
  (SELECT count(*) FROM history WHERE outcome IN ('failed', 'timeout', 'expired'))
FROM flow;
