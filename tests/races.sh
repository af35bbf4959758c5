#!/usr/bin/env bash
# The C programs of crates/capi/tests/programs under ThreadSanitizer, on the software GPU. The C library, the software
# GPU and the standard library are built with it too, which takes minutes the first time. Any report fails; there are no
# suppressions. Needs gcc, and a nightly toolchain with rust-src (rustup component add rust-src --toolchain nightly).
# Usage: tests/races.sh [program [its arguments, such as those of storm: SEED MILLISECONDS]]
# RACES_TARGET is the target folder of the build, and otherwise target/races.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
libraries=$(rustc +nightly --print sysroot)/lib/rustlib
[ -e "$libraries/src/rust/library/Cargo.lock" ] || {
  echo "no rust-src: rustup component add rust-src --toolchain nightly" >&2
  exit 64
}
target=$(realpath -m "${RACES_TARGET:-target/races}")
# Reports name the lines.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_INCREMENTAL=0
RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=thread" cargo +nightly build --locked -Zbuild-std --target "$host" \
  --target-dir "$target" -p overtake-capi -p overtake-softgpu-libcuda --lib
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in libovertake.so libovertake.so.0; do ln -s "$target/$host/debug/libovertake_c.so" "$folder/$name"; done
for name in libcuda.so libcuda.so.1; do ln -s "$target/$host/debug/libcuda.so" "$folder/$name"; done
ln -s "$PWD/tests/c/cuda_mini.h" "$folder/cuda.h"
sources=crates/capi/tests/programs

# The runtime is the compiler's of the libraries: that of gcc may lack functions which they call.
runtime=$libraries/$host/lib/librustc-nightly_rt.tsan.a
run() { # program arguments...
  local program=$1
  shift
  gcc -std=gnu11 -g -O1 -fsanitize=thread -fPIE -I crates/capi/include -I "$folder" -I tests/c -I $sources \
    -DKERNELS_PTX="\"$PWD/crates/workloads/src/workloads.ptx\"" -c "$sources/$program.c" -o "$folder/$program.o"
  gcc -pie -rdynamic "$folder/$program.o" -o "$folder/$program" -L "$folder" -lovertake -lcuda \
    -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive -pthread -ldl -lm -lrt -lresolv
  echo "$program $*"
  # No calm, as in crates/capi/tests/it/programs.rs.
  LD_LIBRARY_PATH=$folder OVERTAKE_UNLISTED=calm_after_us=600000000 \
    TSAN_OPTIONS="history_size=4 ${TSAN_OPTIONS:-}" "$folder/$program" "$@"
}

if [ $# -gt 0 ]; then
  run "$@"
  exit
fi
for program in copies queue bounds refusals tasks task_refusals ends arrays room pipelines templates; do
  run $program
done
run random 1 10
for seed in 1 2 3; do run storm $seed 5000; done
