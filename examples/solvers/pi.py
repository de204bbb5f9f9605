#!/usr/bin/env python3
"""Estimates pi by throwing darts. Params: {"darts": 100000, "seed": 1}."""

import json
import random
import sys

params = json.load(sys.stdin)
darts = params.get("darts", 100_000)
if not isinstance(darts, int) or darts < 1:
    print("darts must be a whole number above 0", file=sys.stderr)
    sys.exit(100)  # trying again would not help

rng = random.Random(params.get("seed", 1))
hits = 0
for n in range(darts):
    if rng.random() ** 2 + rng.random() ** 2 <= 1:
        hits += 1
    if n % max(1, darts // 10) == 0:
        progress = {"percent": 100 * n / darts, "message": f"{n} darts thrown"}
        print("FORGE_PROGRESS", json.dumps(progress), file=sys.stderr, flush=True)

json.dump({"pi": 4 * hits / darts, "darts": darts}, sys.stdout)
