#!/usr/bin/env bash
# The copy kernel by itself: its PTX equals the output of nvcc for its source, its entries move every byte, and the
# sanitizer finds nothing in them, nor in the same PTX as the library launches it (if the program `copies` is there).
# Usage: OVERTAKE_BIN=folder benches/gpu/kernel.sh
set -uo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=()

# step NAME LIMIT_S COMMAND...
step() {
  local name=$1 limit_s=$2 status=0 began=$SECONDS
  shift 2
  printf '\n$ %s\n' "$*"
  timeout -k 5 "$limit_s" "$@" 2>&1 || status=$?
  rows+=("$status|$((SECONDS - began))|$name")
}

step 'PTX is of this source' 60 ./ptx.sh --check ../../copies/src/{kernel/copy,service/service}.cu \
  ../../crates/workloads/src/{workloads,profiled}.cu
# As in the library: PTX for the oldest device, which the driver translates when it loads it.
step 'entries: build' 90 \
  nvcc -O3 -std=c++17 -lineinfo -gencode arch=compute_75,code=compute_75 kernel/entries.cu -o "$work/entries"
step 'entries' 60 "$work/entries"
for tool in memcheck racecheck synccheck; do
  step "entries, $tool" 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$work/entries" 12
done
# The driver translates PTX once and keeps the result in a cache, which a new container does not have.
loads() {
  ptxas -arch=sm_90 ../../copies/src/kernel/copy.ptx -o "$work/copy.cubin" &&
    gcc -O1 -I. -I../../tests/c kernel/load.c -o "$work/load" -ldl || return
  export CUDA_CACHE_PATH=$work/cache
  for _ in 1 2 3 4; do
    echo "no cache: $(CUDA_CACHE_DISABLE=1 "$work/load" ../../copies/src/kernel/copy.ptx)"
    echo "cache:    $("$work/load" ../../copies/src/kernel/copy.ptx)"
    echo "cubin:    $("$work/load" "$work/copy.cubin")"
  done
}
export -f loads
export work
step 'loading: PTX, PTX from the cache, a cubin' 60 bash -c loads
# Without the group `guard`: the sanitizer runs one kernel at a time, so guarded copies rightly stand down.
if [[ -x ${OVERTAKE_BIN:-}/copies ]]; then
  export OVERTAKE_BACKEND=cuda
  step 'library, memcheck' 120 \
    compute-sanitizer --tool memcheck --error-exitcode 9 "$OVERTAKE_BIN/copies" cuda::bytes --color never
else
  rows+=('-|-|library, memcheck: left out, no program `copies` in OVERTAKE_BIN')
fi

printf '\n%6s %5s  %s\n' status s what
failed=0
for row in "${rows[@]}"; do
  IFS='|' read -r status seconds name <<<"$row"
  printf '%6s %5s  %s\n' "$status" "$seconds" "$name"
  [[ $status == [0-] ]] || failed=1
done
exit $failed
