#!/usr/bin/env bash
# The size of the drop-in, and its cost for a process that starts and for a copy that never contends, in instructions of
# the program's own thread. They are counted, so load on the machine hardly changes them. Needs gcc, binutils and
# valgrind, and no GPU.
# Usage: tests/startup.sh [folder of libovertake_preload.so and of the soft GPU's libcuda.so; default target/release]
#
# For a process all instructions count, natively and preloaded. For a copy only the drop-in's own count, beside the
# driver calls that are made for it (natively it is one): the soft GPU's share depends on the work of its thread.
#
# Fails above the limits, which are 2 to 5 % more than was counted last: room for another compiler, and none for another
# part in the way of a copy. The drop-in grew by 7 % with hooks for every call that enters a stream or ends something,
# and again with the watching of copies (crates/shim/src/observe). The live figures (crates/shim/src/report/live.rs)
# added some 20 KB, by the sizes of their functions: 2.17 MB with all else. Scaling the constants to the link and the
# device (copies/src/machine.rs) added another 5 KB: 2.18 MB. Live figures count a copy by direction and way,
# which takes up to one instruction more: 555 of a small copy to the device, 546 of others. Without the probe of copy
# queues, retired names and messages about single copies it has 2.11 MB, and such a copy takes 549 and 540.
# That of a process is a time, 0.5 ms at 3 instructions a nanosecond. A copy takes 390 instructions by itself, some 35
# for the lock over streams, and 110 to keep the thread's cancellation, errno and floating-point state. An unmodified
# program carries no tasks, arrays and pipelines.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
libraries=$(realpath "${1:-$here/../target/release}")
size_limit=2160000 start_limit=1500000 call_limit=567
for file in libovertake_preload.so libcuda.so; do
  [ -e "$libraries/$file" ] || {
    echo "no $file in $libraries: cargo drop-in; cargo build --release -p overtake-softgpu-libcuda" >&2
    exit 64
  }
done
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -I"$here/c" "$here/startup/program.c" -ldl -o "$build/program"
ln -s "$libraries/libcuda.so" "$build/libcuda.so.1"

preloaded=$libraries/libovertake_preload.so

run() { # preloaded option arguments... : leaves the first thread's counts in out-01
  local preloaded=$1 option=$2
  shift 2
  rm -f "$build"/out*
  env -u LD_AUDIT -u OVERTAKE LD_LIBRARY_PATH="$build" LD_PRELOAD="$preloaded" valgrind --tool=callgrind \
    --separate-threads=yes --compress-strings=no --compress-pos=no --callgrind-out-file="$build/out" "$option" \
    "$build/program" "$@" 2>"$build/log" || { cat "$build/log" >&2; return 1; }
}

whole() { # preloaded option : all instructions
  run "$1" --collect-atstart=yes "$2"
  awk '/^totals:/ { print $2; exit }' "$build/out-01"
}

own() { # arguments... : instructions of the drop-in's, and its calls of the driver
  run "$preloaded" --toggle-collect=group "$@"
  awk '/^ob=/ { object = $0; next } /^cob=/ { called = $0; next }
    /^calls=/ { split($1, parts, "="); if (object ~ /overtake_preload/ && called ~ /libcuda/) calls += parts[2]
                called = ""; inclusive = 1; next }
    /^[0-9]/ { if (inclusive) inclusive = 0; else if (object ~ /overtake_preload/) sum += $2 }
    END { print sum + 0, calls + 0 }' "$build/out-01"
}

failed=0
verdict() { # value limit
  if [ "$1" -le "$2" ]; then printf 'within %d' "$2"; else printf 'ABOVE %d' "$2"; return 1; fi
}

strip --strip-unneeded -o "$build/stripped" "$preloaded"
size=$(stat -c %s "$build/stripped")
limit=$(verdict "$size" "$size_limit") || failed=1
printf '%-30s %10d  %s\n\n' "bytes of the drop-in, stripped" "$size" "$limit"
printf '%-30s %10s %10s %10s  %s\n' "instructions of a process" natively preloaded more limit
for what in empty init context; do
  native=$(whole "" $what) ours=$(whole "$preloaded" $what) limit="none: the layer opens here"
  [ $what = context ] || limit=$(verdict $((ours - native)) "$start_limit") || failed=1
  printf '%-30s %10d %10d %10d  %s\n' "$what" "$native" "$ours" "$((ours - native))" "$limit"
done
echo
printf '%-30s %12s  %-12s %12s  %s\n' "a copy of 1000, pinned" instructions limit "driver calls" limit
for copy in "to_device 4096" "to_device 65536" "to_host 4096" "to_host 2097152"; do
  # shellcheck disable=SC2086 # direction and bytes
  read -r sum calls < <(own $copy)
  limit=$(verdict $((sum / 1000)) "$call_limit") || failed=1
  asked=$(verdict "$calls" 1020) || failed=1 # the first copies of a stream may be asked about
  printf '%-30s %12d  %-12s %12s  %s a thousand\n' "$copy" $((sum / 1000)) "$limit" "$calls" "$asked"
done
exit "$failed"
