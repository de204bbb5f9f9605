-- By the primary key. An older push that was delayed never hides a newer one.
INSERT INTO snapshot (node, last_seen, json) VALUES (?1, ?2, ?3)
ON CONFLICT (node) DO UPDATE SET last_seen = excluded.last_seen, json = excluded.json
WHERE excluded.last_seen >= snapshot.last_seen
