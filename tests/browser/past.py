"""Gives the hub of the screenshots a past, which cannot be made through its API.

The hub is stopped. Spreads the jobs over the last hour, fills in what ended on each day
of the last month, and has one machine go away.

Usage: past.py <database> <id of the machine>
"""

import math
import random
import sqlite3
import sys
import time

MINUTE, DAY = 60_000, 86_400_000
now = int(time.time() * 1000)
chance = random.Random(7)

jobs = sqlite3.connect(sys.argv[1])
gone = sys.argv[2]

# Jobs came one after the other in the last hour, more of them lately; each waited a little and ran
# for seconds to minutes.
every = jobs.execute("SELECT seq, status FROM jobs ORDER BY seq").fetchall()
for place, (seq, status) in enumerate(every):
    created = now - 9_000 - int(((len(every) - place) / len(every)) ** 2.4 * 57 * MINUTE)
    ran = int(math.exp(chance.uniform(math.log(4_000), math.log(420_000))))
    claimed = min(created + int(math.exp(chance.uniform(math.log(150), math.log(90_000)))), now - 6_000)
    started = claimed + 900
    end = min(started + ran, now - 2_000)
    jobs.execute(
        "UPDATE jobs SET created_at = ?1, run_at = iif(run_at > ?5, run_at, ?1), "
        "claimed_at = iif(claimed_at IS NULL, NULL, ?2), started_at = iif(started_at IS NULL, NULL, ?3), "
        "finished_at = iif(finished_at IS NULL, NULL, ?4) WHERE seq = ?6",
        (created, claimed, started, end, now + MINUTE, seq),
    )
    jobs.execute(
        "UPDATE history SET due_at = ?, claimed_at = ?, started_at = ?, ended_at = ? WHERE seq = ?",
        (created, claimed, started, end, seq),
    )

# The counters: busy by day, quiet at the weekend, and some failures.
jobs.execute("DELETE FROM flow")
queues = [row[0] for row in jobs.execute("SELECT DISTINCT queue FROM jobs")]


def put(span, ts, queue, completed, failed):
    jobs.execute("INSERT INTO flow VALUES (?, ?, ?, ?, ?, ?)", (span, ts, queue, completed, failed, failed * 2))


for minute in range(60):
    for queue in queues:
        completed = max(0, int(chance.gauss(9 + 4 * math.sin(minute / 9), 2.5)))
        put(MINUTE, now // MINUTE * MINUTE - minute * MINUTE, queue, completed, int(chance.random() < 0.12))
total = [0, 0]
for day in range(30):
    ts = now // DAY * DAY - day * DAY
    weekend = time.gmtime(ts / 1000).tm_wday >= 5
    completed = int(chance.gauss(9_000 if weekend else 31_000, 2_500)) // (2 if day == 0 else 1)
    failed = int(completed * chance.uniform(0.002, 0.011))
    put(DAY, ts, "", completed, failed)
    total = [total[0] + completed, total[1] + failed]
put(0, 0, "", *total)

# One machine went away: its worker is lost already, the machine itself soon after the start.
jobs.execute("UPDATE workers SET last_heartbeat = ?, lost = 1 WHERE id = ?", (now - 2 * MINUTE, gone))
jobs.commit()
