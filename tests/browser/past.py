"""Gives the hub of the screenshots a past, which cannot be made through its API.

The hub is stopped. Spreads over the last hour what ended just now, fills in what ended on each day
of the last month, and has one machine go away.

Usage: past.py <database> <id of the machine>
"""

import math
import random
import sqlite3
import sys
import time

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
now = int(time.time() * 1000)
chance = random.Random(7)

jobs = sqlite3.connect(sys.argv[1])
side = sqlite3.connect(sys.argv[1].replace(".sqlite", ".side.sqlite"))
gone = sys.argv[2]

# What ended: one after the other in the last hour, with runs of some seconds to some minutes.
ended = jobs.execute("SELECT seq, attempt FROM jobs WHERE finished_at IS NOT NULL ORDER BY seq").fetchall()
for place, (seq, attempts) in enumerate(ended):
    end = now - 20_000 - int((len(ended) - place) / len(ended) * 56 * MINUTE)
    ran = int(math.exp(chance.uniform(math.log(4_000), math.log(420_000))))
    waited = int(math.exp(chance.uniform(math.log(150), math.log(30_000))))
    started, claimed, due = end - ran, end - ran - 900, end - ran - 900 - waited
    jobs.execute(
        "UPDATE jobs SET created_at = ?1, run_at = ?1, claimed_at = iif(claimed_at IS NULL, NULL, ?2), "
        "started_at = iif(started_at IS NULL, NULL, ?3), finished_at = ?4 WHERE seq = ?5",
        (due, claimed, started, end, seq),
    )
    for back, (n,) in enumerate(jobs.execute("SELECT n FROM history WHERE seq = ? ORDER BY n DESC", (seq,)).fetchall()):
        earlier = back * (ran + 60_000)
        jobs.execute(
            "UPDATE history SET due_at = ?, claimed_at = ?, started_at = ?, ended_at = ? WHERE seq = ? AND n = ?",
            (due - earlier, claimed - earlier, started - earlier, end - earlier, seq, n),
        )

# What runs began a while ago, and what waits to be tried again failed a while ago.
for seq, in jobs.execute("SELECT seq FROM jobs WHERE status = 2").fetchall():
    ago = chance.randrange(20_000, 9 * MINUTE)
    jobs.execute(
        "UPDATE jobs SET created_at = ?1 - 7000, run_at = ?1 - 7000, claimed_at = ?1 - 800, started_at = ?1 WHERE seq = ?2",
        (now - ago, seq),
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

# One machine went away.
side.execute("UPDATE snapshot SET last_seen = ? WHERE node = ?", (now - 26 * MINUTE, gone))
jobs.execute("UPDATE workers SET last_heartbeat = ?, lost = 1 WHERE id = ?", (now - 26 * MINUTE, gone))
jobs.commit()
side.commit()
