#!/usr/bin/env bash
# Regenerates copy.ptx from copy.cu, or with --check compares them. For a machine with nvcc; it needs no Rust.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v nvcc >/dev/null; then
  echo "ptx.sh: nvcc is missing; the committed copy.ptx came from nvcc 13.0 (V13.0.88)" >&2
  exit 2
fi
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
nvcc -O3 -ptx -arch=compute_75 copy.cu -o "$fresh"
case "${1:-}" in
  --check)
    # The header names the compiler's build, which may differ where the code does not.
    if diff <(grep -v '^//' copy.ptx) <(grep -v '^//' "$fresh") >/dev/null; then
      echo "copy.ptx is up to date with copy.cu"
    else
      echo "copy.ptx differs from nvcc's output for copy.cu: run copies/src/kernel/ptx.sh and commit the result" >&2
      exit 1
    fi ;;
  "") cp "$fresh" copy.ptx; echo "copy.ptx regenerated" ;;
  *) echo "usage: ptx.sh [--check]" >&2; exit 2 ;;
esac
