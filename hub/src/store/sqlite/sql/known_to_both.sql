-- Of the newest logs and of all machines in the side file, how many the database knows, and how
-- many there are. Relies on the unique index of jobs.id and the primary key of nodes.
WITH
  logs AS (SELECT job FROM side.log ORDER BY id DESC LIMIT 1000),
  told AS (
    SELECT EXISTS (SELECT 1 FROM main.jobs WHERE id = logs.job) AS known FROM logs
    UNION ALL
    SELECT EXISTS (SELECT 1 FROM main.nodes WHERE id = snapshot.node) FROM side.snapshot
  )
SELECT coalesce(sum(known), 0), count(*) FROM told
