#!/bin/sh
# The smallest solver: reads its params, says what it does, writes its result.
params=$(cat)
echo "working on job $FORGE_JOB_ID, attempt $FORGE_ATTEMPT" >&2
echo 'FORGE_PROGRESS {"percent": 50, "message": "half way"}' >&2
printf '{"hello": %s}\n' "$params"
