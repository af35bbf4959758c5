#!/usr/bin/env bash
# The clients of the drop-in on a real GPU: each natively and in the three deployments, outputs and ends compared.
# Needs gcc and a driver, no Rust.
#
# usage: gpu.sh path/to/libovertake_preload.so [name ...]
#
# environment: LIBCUDA (default: the libcuda.so.1 that ld.so finds), DEPLOYMENTS (default: preload shadow audit),
# LIMIT_S per program (default 30), OUT (a folder to keep outputs and reports in), FUZZ_PROGRAMS (random programs, ten a
# process; default 40), FUZZ_FIRST (seed of the first; default 1). The name `fuzz` alone runs those alone.
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$tests/../../.." && pwd)
[ $# -ge 1 ] || { sed -n '5p' "$0"; exit 64; }
library=$(realpath "$1") || exit 64
shift
[ -e "$library" ] || { echo "$library is missing: cargo build -p overtake-preload"; exit 64; }
only=" $* "
deployments=${DEPLOYMENTS:-preload shadow audit}
limit_s=${LIMIT_S:-30}
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd) # programs are named by whole paths
bin=$out/bin
libcuda=${LIBCUDA:-$(ldconfig -p | awk '/libcuda\.so\.1 .*x86-64|libcuda\.so\.1 .*AArch64/ { print $NF; exit }')}
[ -e "${libcuda:-/nowhere}" ] || { echo "no libcuda.so.1: set LIBCUDA"; exit 64; }
mkdir -p "$bin" "$out/link" "$out/shadow" "$out/reports"
ln -sf "$(realpath "$libcuda")" "$out/link/libcuda.so"
ln -sf "$library" "$out/shadow/libcuda.so.1"

trim() { local text=$1; text=${text#"${text%%[![:space:]]*}"}; printf '%s' "${text%"${text##*[![:space:]]}"}"; }

build() { # name source flags
  local path=$tests/c/$2
  case $2 in shared/*) path=$root/tests/c/${2#shared/} ;; esac
  # shellcheck disable=SC2086 # flags are words
  gcc -std=c11 -O1 -g -pthread "-DKERNELS_PTX=\"$root/crates/softgpu/src/builtin.ptx\"" -I "$root/tests/c" "$path" \
    -o "$bin/$1" -L "$bin" -L "$out/link" ${3//@bin/$bin} -ldl 2>"$out/$1.gcc" || { cat "$out/$1.gcc"; return 1; }
}

run() { # deployment name arguments...
  local deployment=$1 name=$2 folder=$out/reports/$1/$2
  shift 2
  rm -rf "$folder" && mkdir -p "$folder"
  local -a set=("OVERTAKE_REPORT_DIR=$folder")
  case $deployment in
    preload) set+=("LD_PRELOAD=$library") ;;
    shadow) set+=("LD_LIBRARY_PATH=$out/shadow${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "OVERTAKE_LIBCUDA=$libcuda") ;;
    audit) set+=("LD_AUDIT=$library") ;;
  esac
  [ "$expected" = unasked ] && set=("${set[@]:1}")
  timeout -k 1 "$limit_s" env "${set[@]}" "$bin/$name" "$@" >"$folder/output" 2>"$folder/errors"
  echo $? >"$folder/status"
  [ "$expected" != warns ] || sed -i '/^overtake: /d' "$folder/errors"
}

# The numbers of copies by kernel and of urgent copies in the reports.
moved() { # deployment name
  grep -oh '"\(urgent\|kernel\)":{"copies":[0-9]*' "$out/reports/$1/$2"/*.json 2>/dev/null |
    sed 's/[^0-9]//g' | awk '{ sum += $1 } END { print sum + 0 }'
}

different=0 ran=0
try_all() { # name arguments...
  local name=$1 line deployment verdict part count
  run native "$@"
  line=$(printf '%-28s native %-4s' "$name" "$(cat "$out/reports/native/$name/status")")
  for deployment in $deployments; do
    run "$deployment" "$@"
    ran=$((ran + 1)) verdict=same
    for part in status output errors; do
      cmp -s "$out/reports/native/$name/$part" "$out/reports/$deployment/$name/$part" ||
        { verdict="DIFFERENT $part ($(cat "$out/reports/$deployment/$name/status"))"; break; }
    done
    count=$(moved "$deployment" "$name")
    case $expected in moved | captured | forked) [ "$count" -gt 0 ] || verdict="$verdict, NOTHING MOVED" ;; esac
    [ "$verdict" = same ] || different=$((different + 1))
    line+="| $deployment $verdict ($count) "
  done
  echo "$line"
}

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
  local first=${FUZZ_FIRST:-1} programs=${FUZZ_PROGRAMS:-40} at=0 flavour name
  expected=warns
  build fuzz fuzz/main.c -lcuda || { different=$((different + 1)); return; }
  build fuzz_ptds fuzz/main.c "-DCUDA_API_PER_THREAD_DEFAULT_STREAM -lcuda"
  for ((at = 0; at < programs; at += 10)); do
    flavour=fuzz name=fuzz_$((first + at))
    [ $((at / 10 % 4)) -lt 3 ] || flavour=fuzz_ptds
    ln -sf "$bin/$flavour" "$bin/$name"
    try_all "$name" $((first + at)) 10
  done
}
if [ "$only" = "  " ] || [[ $only == *" fuzz "* ]]; then fuzz; fi

echo "$ran runs, $different not as natively; outputs and reports: $out"
[ "$different" = 0 ]
