#!/usr/bin/env bash
# What it costs to watch a program's copies, and what is said of programs: `overtake run --observe` and `--compare`.
# Usage: OVERTAKE_BIN=folder OUT=folder benches/gpu/observe.sh [--runs N] [--rounds N] [--groups N] [--no-compare]
#
# Fails if a copy call costs more than 0.1 us more than natively, if `bench latency` of CUDA alone loses more than 1 %
# of its bulk or its urgent copies take more than 1 % longer (each the median of ratios of two runs, one behind the
# other), if a step of loop.py takes more than 1 % longer (the median of ratios of groups, in turn), or if the answer
# about contended.py and serving.py, where small copies stand behind bulk, is not that overtake helps.
set -euo pipefail
here=$(dirname "$0")
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
gcc -std=gnu11 -O2 -Wall -Wextra -Werror "-DKERNELS_PTX=\"$(realpath "$here/../../crates/softgpu/src/builtin.ptx")\"" \
  -I"$here/../../tests/c" "$here/cost/calls.c" -ldl -o "$build/calls"
python3 "$here/observe.py" "$build/calls" "$@"
