-- One row: the next numbers to give out. They are never reused, not even after pruning.
CREATE TABLE position (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  epoch      INTEGER NOT NULL,
  next_job   INTEGER NOT NULL,
  next_event INTEGER NOT NULL
);

-- The hot rows: small, and all that a decision needs.
-- status: 0 pending, 1 assigned, 2 running, 3 completed, 4 failed, 5 quarantined.
-- lease_state: 0 live, 1 expired, 2 completed, 3 failed, 4 released.
CREATE TABLE jobs (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  queue            TEXT NOT NULL,
  type             TEXT NOT NULL,
  priority         INTEGER NOT NULL,
  status           INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
  lane             INTEGER,
  created_at       INTEGER NOT NULL,
  run_at           INTEGER NOT NULL,
  max_attempts     INTEGER NOT NULL,
  max_runtime_ms   INTEGER,
  expires_at       INTEGER,
  backoff          TEXT,
  attempt          INTEGER NOT NULL DEFAULT 0,
  attempts         INTEGER NOT NULL DEFAULT 0,
  given_back       INTEGER NOT NULL DEFAULT 0,
  silent_expiries  INTEGER NOT NULL DEFAULT 0,
  history_len      INTEGER NOT NULL DEFAULT 0,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  claimed_at       INTEGER,
  started_at       INTEGER,
  heartbeat_at     INTEGER,
  finished_at      INTEGER,
  progress_at      INTEGER,
  fail_reason      TEXT,
  lease_id         TEXT,
  lease_worker     TEXT,
  lease_boot       TEXT,
  lease_claim      TEXT,
  lease_state      INTEGER,
  lease_granted    INTEGER,
  lease_until      INTEGER,
  lease_started    INTEGER
);

-- Pending jobs in the order they are due; the row number that SQLite appends is the age.
CREATE INDEX jobs_lane ON jobs (lane, run_at) WHERE lane IS NOT NULL;
CREATE INDEX jobs_live ON jobs (lease_worker) WHERE status IN (1, 2);
CREATE INDEX jobs_finished ON jobs (status, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE expires_at IS NOT NULL AND lane IS NOT NULL;

CREATE TABLE lanes (
  id       INTEGER PRIMARY KEY,
  queue    TEXT NOT NULL,
  type     TEXT NOT NULL,
  priority INTEGER NOT NULL,
  n        INTEGER NOT NULL,
  UNIQUE (queue, type, priority)
);

CREATE TABLE specs (
  seq             INTEGER PRIMARY KEY,
  params          TEXT NOT NULL,
  tags            TEXT,
  command         TEXT,
  solver_url      TEXT,
  solver_checksum TEXT
);

CREATE TABLE tags (
  tag TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (tag, seq)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  key  TEXT PRIMARY KEY,
  seq  INTEGER NOT NULL,
  body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX idempotency_job ON idempotency (seq);

CREATE TABLE results (
  seq    INTEGER PRIMARY KEY,
  result TEXT NOT NULL,
  hash   TEXT,
  key    TEXT,
  usage  TEXT
);

-- How attempts ended other than by a result.
CREATE TABLE history (
  seq         INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  worker      TEXT,
  claimed_at  INTEGER,
  started_at  INTEGER,
  ended_at    INTEGER NOT NULL,
  outcome     TEXT NOT NULL,
  reason      TEXT,
  error_class TEXT,
  backtrace   TEXT,
  usage       TEXT,
  PRIMARY KEY (seq, n)
) WITHOUT ROWID;

CREATE TABLE progress (
  seq     INTEGER PRIMARY KEY,
  percent REAL,
  message TEXT,
  at      INTEGER NOT NULL
);

CREATE TABLE counts (
  queue  TEXT NOT NULL,
  type   TEXT NOT NULL,
  status INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  PRIMARY KEY (queue, type, status)
) WITHOUT ROWID;

CREATE TABLE workers (
  id             TEXT PRIMARY KEY,
  about          TEXT NOT NULL,
  boot           TEXT,
  superseded     TEXT NOT NULL,
  draining       INTEGER NOT NULL,
  lost           INTEGER NOT NULL,
  registered_at  INTEGER NOT NULL,
  last_heartbeat INTEGER,
  busy           INTEGER,
  rss_kb         INTEGER,
  outbox         INTEGER
) WITHOUT ROWID;

-- One row a commit, holding the events numbered first .. first + n - 1.
CREATE TABLE events (
  first INTEGER PRIMARY KEY,
  n     INTEGER NOT NULL,
  ts    INTEGER NOT NULL,
  data  TEXT NOT NULL
);

CREATE TABLE tokens (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  scope        TEXT NOT NULL,
  hash         BLOB NOT NULL UNIQUE,
  worker_id    TEXT,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) WITHOUT ROWID;

CREATE TABLE sessions (
  hash       BLOB PRIMARY KEY,
  token_id   TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
  n      INTEGER PRIMARY KEY AUTOINCREMENT,
  ts     INTEGER NOT NULL,
  actor  TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  detail TEXT
);

CREATE TABLE operations (
  id         TEXT PRIMARY KEY,
  action     TEXT NOT NULL,
  priority   INTEGER,
  filter     TEXT NOT NULL,
  after      INTEGER NOT NULL,
  upto       INTEGER NOT NULL,
  matched    INTEGER NOT NULL,
  changed    INTEGER NOT NULL,
  skipped    INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE nodes (
  id        TEXT PRIMARY KEY,
  name      TEXT NOT NULL,
  last_seen INTEGER NOT NULL,
  latest    TEXT
) WITHOUT ROWID;
