-- The oldest commits' events. Relies on the primary key of events. Numbers are in the order of
-- time whatever the clock said, so all up to an old row go: a hole would be a lie to watchers.
-- The newest row stays, so that a watcher can tell "nothing new" from "too old". ?1 the time
-- before which events are old.
DELETE FROM events
WHERE first <= (SELECT max(first) FROM (SELECT first, ts FROM events ORDER BY first LIMIT 500) WHERE ts < ?1)
  AND first < (SELECT max(first) FROM events)
