-- The log of one attempt of one job: which bytes of it are still here.
CREATE TABLE log (
    id         INTEGER PRIMARY KEY,
    job        TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    first_byte INTEGER NOT NULL,
    end_byte   INTEGER NOT NULL,
    UNIQUE (job, attempt)
) STRICT;

-- Its bytes. A chunk ends where the next one starts. The table keeps its rowid because large
-- values in the leaves of a WITHOUT ROWID table make every search read them.
CREATE TABLE log_chunk (
    id     INTEGER PRIMARY KEY,
    log    INTEGER NOT NULL REFERENCES log (id) ON DELETE CASCADE,
    at     INTEGER NOT NULL,
    length INTEGER NOT NULL,
    bytes  BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX log_chunk_by_place ON log_chunk (log, at, length);

-- The newest snapshot of each node.
CREATE TABLE snapshot (
    node      TEXT PRIMARY KEY,
    last_seen INTEGER NOT NULL,
    json      TEXT NOT NULL
) STRICT, WITHOUT ROWID;
