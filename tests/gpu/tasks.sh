#!/usr/bin/env bash
# Tasks and their dispatcher: their tests, `bench tasks`, `bench video` and the bench program `dispatch`. Ends with one
# table: each figure beside its limit. Programs that are not in OVERTAKE_BIN are left out with a line.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [TASKS_S=60] [VIDEO_S=60] [OUT=folder] tests/gpu/tasks.sh
# The folder has `overtake`, and may have `tasks` (the test) and `dispatch` (the bench):
#   cargo build --release -p overtake-cli
#   cargo test --release --no-run --test tasks && cargo bench --no-run --bench dispatch
set -uo pipefail
bin=${OVERTAKE_BIN:+$OVERTAKE_BIN/}
export OUT=${OUT:-$(mktemp -d)} OVERTAKE_BACKEND=${OVERTAKE_BACKEND:-cuda}
tasks_s=${TASKS_S:-60} video_s=${VIDEO_S:-60}
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
    case $line in
      *' missed their deadline')
        outcome=
        if [[ $line == dispatcher* ]]; then
          outcome=holds
          [[ $line == *': 0 of '* ]] || outcome='DOES NOT HOLD'
        fi
        rows+=("  ${line%%:*}|${line#*: }|$outcome")
        ;;
      *'(limit '*'): '*)
        figure=$(sed 's/.*: \(.*(limit [^)]*)\): .*/\1/' <<<"$line")
        rows+=("  ${line%: *(limit *}|$figure|${line##*: }")
        ;;
      *'limit '*', goal '*': '*)
        figure=$(sed 's/: [^:]*$//; s/  */ /g' <<<"${line:44}")
        rows+=("  ${line:0:44}|$figure|${line##*: }")
        ;;
    esac
  done <"$said"
}

# program NAME LIMIT_S COMMAND...: as step, if its program is there.
program() {
  if command -v "$3" >/dev/null; then step "$@"; else rows+=("$1|-|left out: there is no $3"); fi
}

program 'tests' 300 "${bin}tasks" --color never
step 'bench tasks' $((4 * tasks_s + 120)) \
  "${bin}overtake" bench tasks --seconds "$tasks_s" --json "$OUT/tasks.json"
step 'bench video' $((4 * video_s + 120)) \
  "${bin}overtake" bench video --seconds "$video_s" --json "$OUT/video.json"
# A minute of the dispatcher alone: the references have a third of the time each.
step 'bench video, a minute' $((12 * video_s + 120)) \
  "${bin}overtake" bench video --methods dispatcher --seconds $((3 * video_s)) --json "$OUT/minute.json"
program 'bench dispatch' 120 "${bin}dispatch"

printf '\nresults in %s, %s s in all\n\n%-52s | %-40s | %s\n' "$OUT" "$SECONDS" what figure outcome
failed=0
for row in "${rows[@]}"; do
  IFS='|' read -r what figure outcome <<<"$row"
  printf '%-52s | %-40s | %s\n' "$what" "$figure" "$outcome"
  case $outcome in
    *'NOT HOLD' | ABOVE* | OUT* | FAILS*) failed=1 ;;
  esac
done
exit $failed
