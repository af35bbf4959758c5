#!/usr/bin/env bash
# Cameras beside every background: bytes, missed pictures by method, cameras added until one is missed beside those that
# the plan admits, and more cameras than the link carries.
# Ends with one table: each figure beside its limit. No command takes longer than two minutes.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [VIDEO_S=15] [OUT=folder] benches/gpu/video.sh [PART...]
# The parts are bytes, each, everything, large, small, dropin, load, admitted, overload and block; without one, all of
# them. The folder has `overtake` (cargo build --release -p overtake-cli), and for dropin the drop-in (cargo drop-in).
. "$(dirname "$0")/steps.sh"
video_s=${VIDEO_S:-15} limit_s=120
five=(--stream 4x1080p60:nv12 --stream 4k30:nv12)
[ $# -gt 0 ] || set -- bytes each everything large small dropin load admitted overload block

# video NAME ARGUMENTS...: a run of `bench video`, kept as NAME.json.
video() {
  local name=$1
  shift
  step "bench video: $name" "$limit_s" "${bin}overtake" bench video "$@" --json "$OUT/video-$name.json"
}

# planned COUNT: the plan of so many cameras of 4K, as JSON. It fails where one may be late.
planned() {
  printf '[background]\nbulk = true\n[[stream]]\nname = "camera"\ncount = %s\npictures = "4k60:rgba"\n%s\n' "$1" \
    $'kernels_us = [69.2, 26.4, 30.8]\ndownload_bytes = 14_745_600' >"$OUT/cameras.toml"
  "${bin}overtake" pipeline plan --json "$OUT/cameras.toml" 2>/dev/null
}

# admitted: the most cameras that the plan admits.
admitted() {
  local count=0
  while [ "$count" -lt 16 ] && planned $((count + 1)) >/dev/null; do count=$((count + 1)); done
  echo "$count"
}

# compare NAME FIGURE LIMIT: a row; the figure may be as large as the limit.
compare() {
  local outcome=holds
  python3 -c 'import sys; sys.exit(float(sys.argv[1]) > float(sys.argv[2]))' "$2" "$3" || outcome='DOES NOT HOLD'
  rows+=("  $1|$2 (limit $3)|$outcome")
}

# most NAME FIELD: the largest of a field of the rows of pipelines in the run of this name.
most() {
  python3 -c '
import json, sys
rows = [row for row in json.load(open(sys.argv[1]))["rows"] if row["method"] == "pipeline"]
print(max(sum(row["dropped"].values()) if sys.argv[2] == "dropped" and row.get("dropped") else row.get(sys.argv[2]) or 0
          for row in rows))' "$OUT/video-$1.json" "$2"
}

for part in "$@"; do
  case $part in
    # Every method compares the bytes of every result.
    bytes) video bytes --check --seconds "$video_s" --rounds 3 "${five[@]}" --background all ;;
    # Every method beside each background by itself.
    each) video each --seconds $((3 * video_s)) --rounds 3 "${five[@]}" --background model,transcode,offload ;;
    # Native with priorities and the whole stack beside everything: a minute for both, and their references.
    everything)
      video everything --seconds $((4 * video_s)) --rounds 3 "${five[@]}" --background all \
        --methods native+priority,pipeline
      ;;
    # Both directions saturated, by large requests and by small ones.
    large) video large --seconds $((2 * video_s)) --rounds 3 "${five[@]}" --methods native+priority,pipeline ;;
    small)
      video small --seconds $((2 * video_s)) --rounds 3 "${five[@]}" --methods native+priority,pipeline --bulk-bytes 4M
      ;;
    # The drop-in under the plain program: its rows are called as those of the program. Another drop-in than that of the
    # folder is named by DROP_IN.
    dropin)
      library=${DROP_IN:-${bin}libovertake_preload.so}
      if [ -e "$library" ]; then
        step "bench video: dropin" "$limit_s" env LD_PRELOAD="$library" "${bin}overtake" bench video \
          --seconds $((2 * video_s)) --rounds 3 "${five[@]}" --methods native+priority --json "$OUT/video-dropin.json"
      else
        rows+=("dropin|-|left out: there is no $library")
      fi
      ;;
    # Cameras are added until a picture is missed: pipelines carry those that the plan admits.
    load)
      video load --raise --seconds $((4 * video_s)) --stream 16x4k60:rgba --methods native+priority,pipeline
      carried=$(sed -n 's/^pipeline beside .* carries \([0-9]*\) cameras.*/\1/p' "$OUT/bench-video:-load.txt")
      compare "cameras that the plan admits, beside those carried" "$(admitted)" "${carried:-0}"
      ;;
    # Those that the plan admits: no picture is later than its bound.
    admitted)
      count=$(admitted)
      video admitted --seconds $((4 * video_s)) --rounds 1 --stream "${count}x4k60:rgba" --methods pipeline
      bound=$(planned "$count" | python3 -c 'import json, sys; print(json.load(sys.stdin)["streams"][0]["bound_us"])')
      compare "us of the latest picture of $count cameras" "$(most admitted max_us)" "$bound"
      ;;
    # Pictures need half more of the link than there is: delivered ones are in time, and each camera drops a third. Four
    # of all cameras' pictures are at work at once. One is up to a period old when it is admitted (6.7 ms), and has a
    # quarter of the link beside bulk, kernels and its download: 3 ms. Some hosts have spells in which all copies take
    # four times as long, natively too, so each picture has four periods, as in the test on the software GPU.
    overload | block)
      policy=(--behind latest-only --at-once 4) streams=()
      [ "$part" = overload ] || policy=(--behind block)
      for _ in {1..16}; do streams+=(--stream 4k150:rgba); done
      # Its own lines tell of missed pictures, which there must be.
      step "bench video: $part" "$limit_s" bash -c '"$@" >/dev/null' - "${bin}overtake" bench video \
        --seconds "$video_s" --rounds 1 "${streams[@]}" --background model --methods pipeline --deadline 4 \
        "${policy[@]}" --json "$OUT/video-$part.json"
      if [ "$part" = overload ]; then
        compare "late pictures of a camera, at most" "$(most overload late)" 0
      else
        compare "dropped pictures of a camera, at most" "$(most block dropped)" 0
      fi
      ;;
    *) rows+=("$part|-|FAILS (there is no such part)") ;;
  esac
done
table
