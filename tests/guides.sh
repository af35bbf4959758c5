#!/usr/bin/env bash
# Runs every program of the README and the guides as someone does who has just read it: Rust in a new crate, C and C++
# in a new folder beside an installation, Python in a new virtual environment, all outside the workspace and on the
# software GPU. A block is a program if it has a `main`, or is marked `python` (`py` has lines for a program of one's
# own).
# Needs the debug build (cargo build), gcc, g++, pkg-config, binutils, and python3 with venv.
# Usage: tests/guides.sh [WHEEL]
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
wheel=${1:+$(realpath "$1")}
target=$(realpath "${CARGO_TARGET_DIR:-$root/target}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place"/{programs,rust,c,said}
unset PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD RUSTFLAGS
export OVERTAKE_BACKEND=soft

# `docs/data.md` has the programs data_1.rs, data_2.rs and so on, and data.toml with what they depend on.
cd "$root"
awk -v into="$place/programs/" '
  BEGIN { end["rust"] = "rs"; end["c"] = "c"; end["cpp"] = "cpp"; end["python"] = "py" }
  FNR == 1 { page = tolower(FILENAME); gsub(/.*\/|[.]md$/, "", page); number = 0 }
  /^```(rust|c|cpp|python)$/ { language = substr($0, 4); text = ""; next }
  /^```toml$/ { language = "toml"; text = ""; next }
  /^```$/ {
    if (language == "toml" && text ~ /^\[dependencies\]/) printf "%s", text >(into page ".toml")
    else if (language == "python" || text ~ /(int|fn) main\(/)
      printf "%s", text >(into page "_" ++number "." end[language])
    language = text = ""
  }
  language { text = text $0 "\n" }' README.md docs/[a-z]*.md
cd "$place"

run() { # name, command
  timeout --kill-after=1 60 "${@:2}" >"said/$1" 2>&1 || { echo "$1 ends with $?:"; cat "said/$1"; exit 1; }
}

# A crate for each page, in one workspace. A page that names no dependencies has those of the README.
printf '[workspace]\nmembers = ["*"]\nresolver = "3"\n' >rust/Cargo.toml
cp "$root/Cargo.lock" rust/ # the versions that are known to be here
for program in programs/*.rs; do
  name=$(basename "$program" .rs)
  page=${name%_*}
  mkdir -p "rust/$page/src/bin"
  cp "$program" "rust/$page/src/bin/"
  dependencies=programs/$page.toml
  [ -e "$dependencies" ] || dependencies=programs/readme.toml
  { printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2024"\n\n' "$page"
    sed "s|\"../overtake|\"$root|" "$dependencies"; } >"rust/$page/Cargo.toml"
done
cargo build --quiet --offline --manifest-path rust/Cargo.toml --target-dir "$target/guides"
for program in programs/*.rs; do
  name=$(basename "$program" .rs)
  run "$name.rs" "$target/guides/debug/$name"
done

# The README's line for the compiler, in a new folder.
cd "$root"
"$target/debug/overtake-xtask" install --prefix "$place/prefix" --from "$target/debug" >/dev/null
compile=$(sed -n 's/^\(gcc program.c .*overtake-soft.*-o program\).*/\1/p' README.md)
export PKG_CONFIG_PATH=$place/prefix/lib/pkgconfig
cd "$place"
for program in programs/*.c programs/*.cpp; do
  rm -rf c/*
  cp "$program" "c/program.${program##*.}"
  [[ $program == *.c ]] || compile=${compile/gcc program.c/g++ -std=c++17 program.cpp}
  (cd c && eval "$compile")
  run "$(basename "$program")" c/program
done

# The wheel alone, in a new virtual environment. A program that reads kernels finds them beside it.
if [ -z "$wheel" ]; then
  cd "$root"
  wheel=$("$target/debug/overtake-xtask" wheel --from "$target/debug" --to "$place")
fi
cd "$place"
python3 -m venv environment
environment/bin/python3 -m pip install --quiet --no-index --disable-pip-version-check "$wheel"
cp "$root/crates/workloads/src/workloads.ptx" kernels.ptx
soft=$(echo "$place"/environment/lib/python3*/site-packages/overtake_gpu/lib/overtake/soft)
for program in programs/*.py; do
  LD_LIBRARY_PATH=$soft run "$(basename "$program")" environment/bin/python3 "$program"
done

# What some of them print.
while read -r name words; do
  grep -qF "$words" "said/$name" || { echo "$name does not print: $words"; cat "said/$name"; exit 1; }
done <<'END'
readme_2.rs copied 16384 and 16777216 elements
data_5.py 3.0 196608.0
data_6.c the sum is 3000
pipelines_7.c 3 seen, 2 dropped
pipelines_8.py 10 frames, 10 delivered
pipelines_9.cpp 10 seen
python_1.py 1998.0
python_2.py 10 frames
tasks_6.py 1048576 bytes came back
tasks_7.c it is there
END
for language in rs c cpp py; do
  echo "$(find programs -name "*.$language" | wc -l) programs in $language"
done
