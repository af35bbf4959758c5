#!/usr/bin/env bash
# Tasks and their dispatcher: their tests, `bench tasks`, `bench video`, and the programs of heaps, of many copies in
# one launch, of a trace block by block, of Vulkan and of the dispatcher alone. Ends with one table: each figure beside
# its limit. Programs that are not in OVERTAKE_BIN are left out with a line.
# Usage: OVERTAKE_BIN=folder [OVERTAKE_BACKEND=cuda] [TASKS_S=60] [VIDEO_S=60] [OUT=folder] benches/gpu/tasks.sh
# With TASKS_S=40 and VIDEO_S=20 it takes some five minutes; the dispatcher alone has 3 * VIDEO_S. The folder has
# `overtake`, and may have `tasks` and `copies` (tests), `service`, `heap` and `dispatch` (benches), `profile` (an
# example) and `overtake-vulkan`:
#   cargo build --release -p overtake-cli && cargo build --release --example profile
#   cargo test --release --no-run --test tasks --test copies
#   cargo bench --no-run --bench service --bench heap --bench dispatch
. "$(dirname "$0")/steps.sh"
tasks_s=${TASKS_S:-60} video_s=${VIDEO_S:-60}

program 'tests' 300 "${bin}tasks" --color never
program 'lifted copies' 120 "${bin}copies" --color never --ignored lifted
step 'bench tasks' $((4 * tasks_s + 120)) \
  "${bin}overtake" bench tasks --seconds "$tasks_s" --json "$OUT/tasks.json"
step 'bench video' $((4 * video_s + 120)) \
  "${bin}overtake" bench video --seconds "$video_s" --json "$OUT/video.json"
# A minute of the dispatcher alone: the references have a third of the time each.
step 'bench video, a minute' $((12 * video_s + 120)) \
  "${bin}overtake" bench video --methods dispatcher --seconds $((3 * video_s)) --json "$OUT/minute.json"
program 'bench service' 60 "${bin}service"
program 'bench heap' 60 "${bin}heap"
program 'profile' 60 "${bin}profile" "$OUT/profile.trace.json"
program 'Vulkan' 60 "${bin}overtake-vulkan"
program 'bench dispatch' 120 "${bin}dispatch"

table
