#!/usr/bin/env bash
# The cost of the drop-in for a program that never contends: per copy call and launch, and per process start.
# Usage: OVERTAKE_BIN=folder benches/gpu/cost.sh [--runs N] [--calls N] [--starts N] [--driver-starts N]
set -euo pipefail
here=$(dirname "$0")
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
flags=(-std=gnu11 -O2 -Wall -Wextra -Werror)
gcc "${flags[@]}" "-DKERNELS_PTX=\"$(realpath "$here/../../crates/softgpu/src/builtin.ptx")\"" -I"$here/../../tests/c" \
  "$here/cost/calls.c" -ldl -o "$build/calls"
gcc "${flags[@]}" "$here/cost/start.c" -ldl -o "$build/start"
python3 "$here/cost.py" "$build" "$@"
