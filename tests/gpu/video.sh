#!/usr/bin/env bash
# Cameras beside every background: the plan, bytes, missed pictures by method, and cameras added until one is missed.
# Ends with one table: each figure beside its limit. No command takes longer than two minutes.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [VIDEO_S=15] [OUT=folder] tests/gpu/video.sh [PART...]
# The parts are bytes, each, everything, large, small and load; without one, all of them. The folder has `overtake`
# (cargo build --release -p overtake-cli).
. "$(dirname "$0")/steps.sh"
video_s=${VIDEO_S:-15} limit_s=120
five=(--stream 4x1080p60:nv12 --stream 4k30:nv12)
[ $# -gt 0 ] || set -- bytes each everything large small load

# video NAME ARGUMENTS...: a run of `bench video`, kept as NAME.json.
video() {
  local name=$1
  shift
  step "bench video: $name" "$limit_s" "${bin}overtake" bench video "$@" --json "$OUT/video-$name.json"
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
    # Cameras are added until a picture is missed.
    load) video load --raise --seconds $((4 * video_s)) --stream 16x4k30:nv12 --methods native+priority,pipeline ;;
    *) rows+=("$part|-|FAILS (there is no such part)") ;;
  esac
done
table
