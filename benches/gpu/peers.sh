#!/usr/bin/env bash
# Copies between two devices: their tests, the bandwidth of every pair, and an urgent copy beside bulk,
# natively and through overtake. Ends with one table: each figure beside its limit. Programs that are not in
# OVERTAKE_BIN are left out with a line.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [PEERS_S=60] [OUT=folder] benches/gpu/peers.sh
# The folder has `overtake`, and may have `conformance` and `copies` (the tests):
#   cargo build --release -p overtake-cli
#   cargo test --release --no-run --test conformance --test copies
. "$(dirname "$0")/steps.sh"
peers_s=${PEERS_S:-60}

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

table
