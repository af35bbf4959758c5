#!/usr/bin/env bash
# Runs everything, most important first, within a budget. Steps that no longer fit are left out with a line in the
# summary.
# Usage: OVERTAKE_BIN=folder BUDGET_S=540 [OUT=folder] benches/gpu/all.sh
set -uo pipefail
cd "$(dirname "$0")"
export OUT=${OUT:-$(mktemp -d)}
budget_s=${BUDGET_S:-540}
rows=()

# step NAME LEAST_S COMMAND...: runs the command if at least LEAST_S are left, for no longer than the time left.
step() {
  local name=$1 least_s=$2 began=$SECONDS left_s=$((budget_s - SECONDS)) status=0
  shift 2
  if ((left_s < least_s)); then
    rows+=("$name|left out|-|$left_s s left, $least_s s needed")
    return
  fi
  printf '\n=== %s (at %s s)\n' "$name" "$SECONDS"
  timeout -k 5 "$left_s" "$@" || status=$?
  case $status in
    0) rows+=("$name|holds|$((SECONDS - began))|") ;;
    124 | 137) rows+=("$name|out of time|$((SECONDS - began))|cut off after $left_s s") ;;
    *) rows+=("$name|DOES NOT HOLD|$((SECONDS - began))|status $status, see above") ;;
  esac
}

if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.current --format=csv,noheader
fi
step programs 60 python3 pair.py --rounds 2 --budget-s $((budget_s / 3))
step clients 60 ./clients.sh --limit-s 60
step cost 35 ./cost.sh
step nccl 50 python3 nccl.py --limit-s 40
if command -v nvcc >/dev/null && command -v compute-sanitizer >/dev/null; then
  step kernel 40 ./kernel.sh
else
  rows+=('kernel|left out|-|nvcc or compute-sanitizer is missing')
fi
printf '\nresults in %s, %s s in all\n\n%-12s | %-13s | %5s | %s\n' "$OUT" "$SECONDS" step outcome s note
failed=0
for row in "${rows[@]}"; do
  IFS='|' read -r name outcome seconds note <<<"$row"
  printf '%-12s | %-13s | %5s | %s\n' "$name" "$outcome" "$seconds" "$note"
  [[ $outcome == holds || $outcome == 'left out' ]] || failed=1
done
exit $failed
