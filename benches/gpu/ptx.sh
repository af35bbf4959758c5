#!/usr/bin/env bash
# Makes NAME.ptx beside NAME.cu, or with --check compares the two. For a machine with nvcc; it needs no Rust.
# Usage: benches/gpu/ptx.sh [--check] FILE.cu...
set -euo pipefail
# nvcc always writes its own version of PTX, which older drivers refuse. None of our kernels uses what is newer than
# this one, and ptxas says so if one does. `cargo xtask tidy` and `cargo xtask ptx` check it too.
version=8.1
check=
if [[ ${1:-} == --check ]]; then check=yes && shift; fi
[[ $# -ge 1 ]] || { sed -n '3s/^# //p' "$0" >&2; exit 64; }
if ! command -v nvcc >/dev/null; then
  echo "ptx.sh: nvcc is missing; the committed PTX came from nvcc 13.0 (V13.0.88)" >&2
  exit 2
fi
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
status=0
for source in "$@"; do
  ptx=${source%.cu}.ptx
  (cd "$(dirname "$source")" && nvcc -O3 -ptx -arch=compute_75 "$(basename "$source")" -o "$fresh")
  sed -i "s/^\.version .*/.version $version/" "$fresh"
  ptxas -arch=sm_90 "$fresh" -o /dev/null
  if [[ -z $check ]]; then
    cp "$fresh" "$ptx"
    echo "$ptx is written"
  # The header names the compiler's build, which may differ where the code does not.
  elif diff <(grep -v '^//' "$ptx") <(grep -v '^//' "$fresh") >/dev/null; then
    echo "$ptx is the PTX of its source"
  else
    echo "$ptx differs from the PTX that nvcc makes of $source: run benches/gpu/ptx.sh $source, and commit it" >&2
    status=1
  fi
done
exit $status
