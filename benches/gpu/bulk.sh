#!/usr/bin/env bash
# The bandwidth that bulk keeps beside urgent copies under the drop-in, and the time of these: natively, with its
# defaults, and with `overtake run --wait-budget 60us`, by turns in each round. Prints medians over rounds, and ends
# with one table: each figure beside its limit.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [ROUNDS=5] [BULK_S=4] [OUT=folder] benches/gpu/bulk.sh
# The folder has `overtake` (cargo build --release -p overtake-cli) and the drop-in (cargo drop-in).
. "$(dirname "$0")/steps.sh"
rounds=${ROUNDS:-5} bulk_s=${BULK_S:-4} limit_s=60

# measured NAME ARGUMENTS...: a bench in each of the three ways, kept as NAME-WAY-ROUND.json.
measured() {
  local name=$1 way
  local -a under
  shift
  for way in native default whole; do
    case $way in
      native) under=() ;;
      default) under=("${bin}overtake" run --) ;;
      whole) under=("${bin}overtake" run --wait-budget 60us --) ;;
    esac
    timeout -k 5 "$limit_s" "${under[@]}" "${bin}overtake" --quiet bench "$@" --methods native+priority \
      --json "$OUT/$name-$way-$round.json" >"$OUT/$name.txt" 2>&1 ||
      { tail -3 "$OUT/$name.txt"; rows+=("$name, $way, round $round|-|FAILS"); }
  done
}

for ((round = 1; round <= rounds; round++)); do
  echo "round $round of $rounds, $SECONDS s" >&2
  for size in 256M 4M 2M 1M; do measured "$size" latency --bulk-bytes "$size" --seconds "$bulk_s"; done
  measured both video --rounds 1 --seconds "$bulk_s" --stream 1x1080p60:nv12 --background both --bulk-bytes 2M
done
step 'bulk beside urgent copies' 60 python3 "$(dirname "$0")/bulk.py" "$OUT" "$rounds"
table
