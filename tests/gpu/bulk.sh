#!/usr/bin/env bash
# The bandwidth that bulk keeps beside urgent copies under the drop-in, and the time of these: natively, with its
# defaults, and with `overtake run --whole-bulk`, by turns in each round. Ends with medians over rounds beside limits.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [ROUNDS=5] [BULK_S=4] [OUT=folder] tests/gpu/bulk.sh
# The folder has `overtake` (cargo build --release -p overtake-cli) and the drop-in (cargo drop-in).
. "$(dirname "$0")/steps.sh"
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-5} bulk_s=${BULK_S:-4} limit_s=60 failed=0
drop_in=$(realpath "${bin}libovertake_preload.so")
[ -e "$drop_in" ] || { echo "there is no $drop_in: cargo drop-in" >&2; exit 64; }
whole=(LD_PRELOAD="$drop_in" OVERTAKE_TRANSPORT=native OVERTAKE_URGENT_TRANSPORT=kernel)

# measured NAME ARGUMENTS...: a bench in each of the three ways, kept as NAME-WAY-ROUND.json.
measured() {
  local name=$1 way
  shift
  for way in native default whole; do
    local -a set=(A=)
    [ $way != default ] || set=(LD_PRELOAD="$drop_in")
    [ $way != whole ] || set=("${whole[@]}")
    timeout -k 5 "$limit_s" env "${set[@]}" "${bin}overtake" --quiet bench "$@" --methods native+priority \
      --json "$OUT/$name-$way-$round.json" >"$OUT/$name.txt" 2>&1 || { tail -3 "$OUT/$name.txt"; failed=1; }
  done
}

for ((round = 1; round <= rounds; round++)); do
  echo "round $round of $rounds, $SECONDS s" >&2
  for size in 256M 4M 2M 1M; do measured "$size" latency --bulk-bytes "$size" --seconds "$bulk_s"; done
  measured both video --rounds 1 --seconds "$bulk_s" --stream 1x1080p60:nv12 --background both --bulk-bytes 2M
done
python3 "$here/bulk.py" "$OUT" "$rounds" || failed=1
exit $failed
