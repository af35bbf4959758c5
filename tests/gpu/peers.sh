#!/usr/bin/env bash
# Copies between two devices and on one: their tests, the bandwidth of every pair, and an urgent copy beside bulk,
# natively and through overtake. Ends with one table: each figure beside its limit. Programs that are not in
# OVERTAKE_BIN are left out with a line.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [PEERS_S=60] [OUT=folder] tests/gpu/peers.sh
# The folder has `overtake`, and may have `conformance` and `copies` (the tests):
#   cargo build --release -p overtake-cli
#   cargo test --release --no-run --test conformance --test copies
set -uo pipefail
bin=${OVERTAKE_BIN:+$OVERTAKE_BIN/}
export OUT=${OUT:-$(mktemp -d)} OVERTAKE_BACKEND=${OVERTAKE_BACKEND:-cuda}
peers_s=${PEERS_S:-60}
rows=()

# step NAME LIMIT_S COMMAND...: a row for the command, and rows for the figures that it prints beside their limits.
step() {
  local name=$1 limit_s=$2 status=0 began=$SECONDS said=$OUT/${1// /-}.txt outcome=holds
  shift 2
  printf '\n$ %s\n' "$*"
  timeout -k 5 "$limit_s" "$@" 2>&1 | tee "$said" || status=${PIPESTATUS[0]}
  case $status in
    0) ;;
    124 | 137) outcome="OUT OF TIME" ;;
    *) outcome="FAILS ($status)" ;;
  esac
  rows+=("$name|$((SECONDS - began)) s|$outcome")
  local line figure
  while IFS= read -r line; do
    if [[ $line == *'(limit '*'): '* ]]; then
      figure=$(sed 's/.*: \(.*(limit [^)]*)\): .*/\1/' <<<"$line")
      rows+=("  ${line%: *(limit *}|$figure|${line##*: }")
    fi
  done <"$said"
}

# program NAME LIMIT_S COMMAND...: as step, if its program is there.
program() {
  if command -v "$3" >/dev/null; then step "$@"; else rows+=("$1|-|left out: there is no $3"); fi
}

program 'driver tests' 120 "${bin}conformance" --color never peer
program 'copy tests' 180 "${bin}copies" --color never peers
step 'pairs' 300 "${bin}overtake" bench bandwidth --pairs --csv "$OUT/pairs.csv" --json "$OUT/pairs.json"
cat "$OUT/pairs.csv"
step 'to the peer' $((2 * peers_s + 120)) \
  "${bin}overtake" bench peers --seconds "$peers_s" --json "$OUT/peers.json"
step 'from the peer' $((2 * peers_s + 120)) \
  "${bin}overtake" bench peers --pull --seconds "$peers_s" --json "$OUT/peers-pull.json"
step 'requests of 4 MiB' $((2 * peers_s + 120)) \
  "${bin}overtake" bench peers --bulk-bytes 4M --seconds "$peers_s" --json "$OUT/peers-4m.json"
step 'on the device' $((2 * peers_s + 120)) \
  "${bin}overtake" bench peers --peer 0 --seconds "$peers_s" --json "$OUT/on-device.json"

printf '\nresults in %s, %s s in all\n\n%-52s | %-40s | %s\n' "$OUT" "$SECONDS" what figure outcome
failed=0
for row in "${rows[@]}"; do
  IFS='|' read -r what figure outcome <<<"$row"
  printf '%-52s | %-40s | %s\n' "$what" "$figure" "$outcome"
  case $outcome in
    *'NOT HOLD' | OUT* | FAILS*) failed=1 ;;
  esac
done
exit $failed
