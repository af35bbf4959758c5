#!/usr/bin/env bash
# Unmodified programs (unmodified.py) natively and under the drop-in in turn: what each takes, and whether its results
# are the same. Each case has its own rounds and its own file, $OUT/unmodified-CASE.json, for `cargo xtask store-run`.
# A case whose package is not here is left out. Ends with 0 if every case ran and had the same results.
# Usage: OVERTAKE_BIN=folder [OUT=folder] [ROUNDS=5] [LIMIT_S=90] [BUDGET_S=540] benches/gpu/programs.sh [CASE]...
#        [-- ARGUMENT of unmodified.py...]
set -uo pipefail
cd "$(dirname "$0")"
rounds=${ROUNDS:-5} limit_s=${LIMIT_S:-90} budget_s=${BUDGET_S:-540}
export OUT=${OUT:-$(mktemp -d)}
echo "results go to $OUT"
cases=() extra=()
while [[ $# -gt 0 ]]; do
  if [[ $1 == -- ]]; then shift && extra=("$@") && break; fi
  cases+=("$1") && shift
done
[[ ${#cases[@]} -gt 0 ]] || mapfile -t cases < <(python3 unmodified.py --list)
status=0
for case in "${cases[@]}"; do
  left_s=$((budget_s - SECONDS))
  if [[ $left_s -lt 30 ]]; then
    echo "left out: $case (no time left)"
    status=1
    continue
  fi
  echo "== $case, $SECONDS s"
  python3 pair.py unmodified --rounds "$rounds" --limit-s "$limit_s" --budget-s "$left_s" \
    --json "unmodified-${case// /-}.json" -- "$case" "${extra[@]}" || status=1
done
exit $status
