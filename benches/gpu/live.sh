#!/usr/bin/env bash
# What live figures cost a program, and what `overtake top` and `overtake metrics` show of one that copies.
# Usage: OVERTAKE_BIN=folder OUT=folder benches/gpu/live.sh [--runs N]
#
# Fails if a copy call under the drop-in takes more than 0.05 us longer than with OVERTAKE_LIVE=off, or if the program
# is not seen.
set -euo pipefail
here=$(dirname "$0")
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
gcc -std=gnu11 -O2 -Wall -Wextra -Werror "-DKERNELS_PTX=\"$(realpath "$here/../../crates/softgpu/src/builtin.ptx")\"" \
  -I"$here/../../tests/c" "$here/cost/calls.c" -ldl -o "$build/calls"
timeout -k 5 300 python3 "$here/live.py" "$build/calls" "$@"
