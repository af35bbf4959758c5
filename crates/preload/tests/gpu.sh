#!/usr/bin/env bash
# The clients of the drop-in on a real GPU: each natively and in the deployments, outputs and ends compared.
# Needs gcc and a driver, no Rust.
#
# The deployments preload, shadow and audit are those of users. In staged, one_slot, one_thread and no_slots the drop-in
# is preloaded, and stages small pageable copies too: as it does by default, with one slot, with one thread, and on a
# system that gives it no memory for slots. In whole bulk stays whole, and urgent copies of all sizes go by guarded
# kernel.
#
# usage: gpu.sh path/to/libovertake_preload.so [name ...]
#
# environment: LIBCUDA (default: the libcuda.so.1 that ld.so finds), DEPLOYMENTS (default: preload shadow audit),
# LIMIT_S per program (default 30), OUT (a folder to keep outputs and reports in), BIN (a folder of programs that are
# built already, or are kept for the next run), PAGEABLE_COPIES (each way, of each of three threads of the client
# `pageable`). For random programs, which the name `fuzz` alone runs alone: FUZZ_PROGRAMS (default 40), FUZZ_FIRST (the
# seed of the first; default 1), FUZZ_EACH (so many a process; default 10), FUZZ_CONTEXTS (only every so many makes
# contexts; default: all). On an H100 a context takes 0.8 s, and the driver makes those of all processes one after the
# other: few contexts and few processes at once give more programs in the same time.
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$tests/../../.." && pwd)
[ $# -ge 1 ] || { sed -n '9p' "$0"; exit 64; }
library=$(realpath "$1") || exit 64
shift
[ -e "$library" ] || { echo "$library is missing: cargo build -p overtake-preload"; exit 64; }
only=" $* "
deployments=${DEPLOYMENTS:-preload shadow audit}
limit_s=${LIMIT_S:-30}
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd) # programs are named by whole paths
bin=${BIN:-$out/bin}
libcuda=${LIBCUDA:-$(ldconfig -p | awk '/libcuda\.so\.1 .*x86-64|libcuda\.so\.1 .*AArch64/ { print $NF; exit }')}
[ -e "${libcuda:-/nowhere}" ] || { echo "no libcuda.so.1: set LIBCUDA"; exit 64; }
mkdir -p "$bin" "$out/link" "$out/shadow" "$out/reports"
ln -sf "$(realpath "$libcuda")" "$out/link/libcuda.so"
ln -sf "$library" "$out/shadow/libcuda.so.1"

trim() { local text=$1; text=${text#"${text%%[![:space:]]*}"}; printf '%s' "${text%"${text##*[![:space:]]}"}"; }

build() { # name source flags
  local path=$tests/c/$2
  [ ! -e "$bin/$1" ] || return 0
  case $2 in shared/*) path=$root/tests/c/${2#shared/} ;; esac
  # shellcheck disable=SC2086 # flags are words
  gcc -std=c11 -O1 -g -pthread "-DKERNELS_PTX=\"$root/crates/softgpu/src/builtin.ptx\"" -I "$root/tests/c" "$path" \
    -o "$bin/$1" -L "$bin" -L "$out/link" ${3//@bin/$bin} -ldl 2>"$out/$1.gcc" || { cat "$out/$1.gcc"; return 1; }
}

# The threads of a program that will not end in its time: where each is in the kernel, and its stack if there is gdb.
stacks() { # program
  local pid task debugger
  debugger=$(command -v gdb || command -v cuda-gdb || true)
  for pid in $(pgrep -f "^$1( |\$)"); do
    echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
    for task in /proc/"$pid"/task/*; do
      echo "${task##*/} $(cat "$task/comm") in $(cat "$task/wchan"), system call $(cut -d' ' -f1 "$task/syscall")"
    done
    [ -z "$debugger" ] || timeout -k 1 8 "$debugger" -p "$pid" -batch -ex 'thread apply all backtrace 16' 2>/dev/null
  done
}

run() { # deployment name arguments...
  local deployment=$1 name=$2 folder=$out/reports/$1/$2
  shift 2
  rm -rf "$folder" && mkdir -p "$folder"
  local -a set=("OVERTAKE_REPORT_DIR=$folder")
  # Most clients have bulk of a few MiB, which the size tells. Others choose their rule.
  case $name in fuzz*) ;; *) set+=(OVERTAKE_AUTOMATIC=size) ;; esac
  case $deployment in
    preload) set+=("LD_PRELOAD=$library") ;;
    shadow) set+=("LD_LIBRARY_PATH=$out/shadow${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "OVERTAKE_LIBCUDA=$libcuda") ;;
    audit) set+=("LD_AUDIT=$library") ;;
    staged) set+=("LD_PRELOAD=$library" OVERTAKE_UNLISTED=staging_bytes_min=4K) ;;
    one_slot) set+=("LD_PRELOAD=$library" OVERTAKE_UNLISTED=staging_bytes_min=4K,staging_slots=1) ;;
    one_thread) set+=("LD_PRELOAD=$library" OVERTAKE_UNLISTED=staging_bytes_min=4K OVERTAKE_STAGING_THREADS=1) ;;
    whole) set+=("LD_PRELOAD=$library" OVERTAKE_WAIT_BUDGET_US=100 OVERTAKE_UNLISTED=lull=off,guard_bytes_min=1) ;;
    no_slots) set+=("LD_PRELOAD=$library:$bin/libno_slots.so" OVERTAKE_UNLISTED=staging_bytes_min=4K) ;;
  esac
  [ "$expected" = unasked ] && set=("${set[@]:1}")
  local onlooker patience_s=$((limit_s > 12 ? limit_s - 10 : limit_s / 2))
  # It waits for something to read that never comes, so that no `sleep` outlives it.
  (exec 9<> <(:) && ! read -rt "$patience_s" -u 9 && stacks "$bin/$name" >"$folder/stacks" 2>&1) &
  onlooker=$!
  timeout -k 1 "$limit_s" env "${set[@]}" "$bin/$name" "$@" >"$folder/output" 2>"$folder/errors"
  echo $? >"$folder/status"
  kill "$onlooker" 2>/dev/null
  wait "$onlooker" 2>/dev/null
  # A deployment sets options that a random program draws otherwise.
  case $name in fuzz*) sed -i '/^options of /d' "$folder/output" ;; esac
  sed -i '/^overtake: .*OVERTAKE_UNLISTED is set/d' "$folder/errors"
  case $expected,$deployment in
    warns,* | "launches block",* | *,no_slots) sed -i '/^overtake: /d' "$folder/errors" ;;
  esac
}

# The numbers of copies of these classes in the reports.
count() { # classes deployment name
  grep -oh "\"\($1\)\":{\"copies\":[0-9]*" "$out/reports/$2/$3"/*.json 2>/dev/null |
    sed 's/[^0-9]//g' | awk '{ sum += $1 } END { print sum + 0 }'
}

different=0 ran=0 late=0
try_all() { # name arguments...
  local name=$1 line deployment verdict part moved staged began=$SECONDS
  run native "$@"
  line=$(printf '%-28s native %-4s' "$name" "$(cat "$out/reports/native/$name/status")")
  if [ $((SECONDS - began)) -ge "$limit_s" ]; then
    late=$((late + 1))
    echo "$line| not within $limit_s s: not compared"
    return
  fi
  for deployment in $deployments; do
    run "$deployment" "$@"
    ran=$((ran + 1)) verdict=same
    for part in status output errors; do
      cmp -s "$out/reports/native/$name/$part" "$out/reports/$deployment/$name/$part" ||
        { verdict="DIFFERENT $part ($(cat "$out/reports/$deployment/$name/status"))"; break; }
    done
    moved=$(count 'urgent\|kernel' "$deployment" "$name") staged=$(count staged "$deployment" "$name")
    case $expected,$deployment in
      *,whole) ;; # bulk that meets no urgent copy goes natively there
      moved,* | captured,* | forked,*) [ "$moved" -gt 0 ] || verdict="$verdict, NOTHING MOVED" ;;
    esac
    case $name,$deployment in
      *,no_slots) [ "$staged" = 0 ] || verdict="$verdict, STAGED" ;;
      pageable,staged | pageable,one_*) [ "$staged" -gt 0 ] || verdict="$verdict, NOTHING STAGED" ;;
    esac
    [ "$verdict" = same ] || different=$((different + 1))
    line+="| $deployment $verdict ($moved, $staged staged) "
  done
  echo "$line"
}

build libno_slots.so shared/../fixtures/refused_pinning.c "-shared -fPIC"

while IFS='|' read -r kind name source flags ends expected where arguments; do
  kind=$(trim "$kind") name=$(trim "$name") source=$(trim "$source") flags=$(trim "$flags") ends=$(trim "$ends")
  expected=$(trim "$expected") where=$(trim "$where") arguments=$(trim "$arguments")
  case $kind in library) build "$name" "$source" "$flags"; continue ;; program) ;; *) continue ;; esac
  [ "$where" = any ] || continue
  [ "$only" != " fuzz " ] || continue
  build "$name" "$source" "$flags" || { different=$((different + 1)); echo "$name: does not build"; continue; }
  [ "$only" = "  " ] || [[ $only == *" $name "* ]] || continue
  arguments=${arguments//@bin/$bin} arguments=${arguments//@tests/$tests}
  # shellcheck disable=SC2086 # arguments are words
  try_all "$name" $arguments
done <"$tests/clients.list"

# Random programs: those that the tests run, with both meanings of handle 0.
fuzz() {
  local first=${FUZZ_FIRST:-1} programs=${FUZZ_PROGRAMS:-40} each=${FUZZ_EACH:-10} at=0 flavour name
  local -a few=(${FUZZ_CONTEXTS:+--contexts "$FUZZ_CONTEXTS"})
  expected=warns
  build fuzz fuzz/main.c -lcuda || { different=$((different + 1)); return; }
  build fuzz_ptds fuzz/main.c "-DCUDA_API_PER_THREAD_DEFAULT_STREAM -lcuda"
  for ((at = 0; at < programs; at += each)); do
    flavour=fuzz name=fuzz_$((first + at))
    [ $((at / each % 4)) -lt 3 ] || flavour=fuzz_ptds
    ln -sf "$bin/$flavour" "$bin/$name"
    try_all "$name" $((first + at)) "$each" "${few[@]}"
  done
}
if [ "$only" = "  " ] || [[ $only == *" fuzz "* ]]; then fuzz; fi

echo "$ran runs, $different not as natively, $late not within their time natively; outputs and reports: $out"
[ "$different" = 0 ] && [ "$late" = 0 ]
