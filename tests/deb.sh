#!/usr/bin/env bash
# The package for Debian: made by the lines of CONTRIBUTING.md, and installed by dpkg, used and removed again in a copy
# of this system (overlay.sh). Needs dpkg, xz, gcc, pkg-config and the right to mount. CMake is used where it is there.
# Usage: tests/deb.sh [folder of the built files; default target/debug]
# Ends with 77, and a line that says why, where one of these is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(realpath "${1:-target/debug}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset LD_LIBRARY_PATH LD_PRELOAD PKG_CONFIG_PATH
for needed in dpkg-deb xz pkg-config; do
  command -v $needed >/dev/null || { echo "no package for Debian: no $needed here"; exit 77; }
done
export NEEDS="dpkg --status libc6"
mkdir "$place/try"
echo true >"$place/try/try.sh"
tests/overlay.sh "$place/try" # before the work of building the package

# The recipe, with the built files of this test in place of those for a release.
awk '/^```/ { if (text ~ /dpkg-deb/) printf "%s", text; text = ""; next } { text = text $0 "\n" }' CONTRIBUTING.md |
  sed "s|^from=target/wheel/release to=target/package|from=$built to=$place/package|" >"$place/recipe"
grep -q "^from=$built" "$place/recipe" || { echo "CONTRIBUTING.md has no recipe for the package" >&2; exit 1; }
# It is as large as it likes: little time goes into making it small.
export XZ_OPT=-0 DPKG_DEB_COMPRESSOR_LEVEL=0
bash -euo pipefail "$place/recipe" >"$place/said" 2>&1 || { cat "$place/said"; exit 1; }
! grep "left out" "$place/said" || exit 1

mv "$place"/package/*.deb "$place/try/overtake.deb"
tar -tf "$place"/package/*.tar.xz >"$place/try/files"
completions=share/bash-completion/completions/overtake
for file in bin/overtake lib/libovertake.so.0 share/man/man1/overtake-run.1 $completions; do
  grep -qx "usr/$file" "$place/try/files" || { echo "the archive has no $file" >&2; exit 1; }
done
awk '/^```/ { if (text ~ /int main\(/) { printf "%s", text; exit } text = ""; next } { text = text $0 "\n" }' \
  crates/capi/README.md >"$place/try/program.c"
cat >"$place/try/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(program C)
find_package(Overtake REQUIRED)
add_executable(program program.c)
target_link_libraries(program Overtake::soft)
END
cat >"$place/try/try.sh" <<'END'
dpkg --install overtake.deb >said 2>&1 || { cat said; exit 1; }
dpkg --listfiles overtake >installed
grep -qx /usr/share/zsh/vendor-completions/_overtake installed
overtake --version
OVERTAKE_BACKEND=soft overtake demo --seconds 0.1 >said 2>&1 && grep -q "picture: " said || { cat said; exit 1; }
gcc program.c $(pkg-config --cflags --libs overtake-soft) -o program
./program
gcc program.c -I/usr/lib/overtake/soft/include $(pkg-config --cflags --libs overtake) -L/usr/lib/overtake/soft -lcuda \
  -o driven
LD_LIBRARY_PATH=/usr/lib/overtake/soft overtake run --report -- ./driven >said 2>&1 || { cat said; exit 1; }
grep -q "state: open" said || { cat said; exit 1; }
if command -v cmake >/dev/null; then
  { cmake -S . -B build && cmake --build build; } >said 2>&1 || { cat said; exit 1; }
  build/program
else
  echo "left out: no CMake here"
fi
dpkg --remove overtake >said 2>&1 || { cat said; exit 1; }
while read -r file; do
  case $file in
    */overtake | */overtake/* | */Overtake | */Overtake/* | */*overtake*)
      [ ! -e "$file" ] && [ ! -L "$file" ] || { echo "left behind: $file" >&2; exit 1; } ;;
  esac
done <installed
END
tests/overlay.sh "$place/try"
echo "package: $(($(stat -c %s "$place/try/overtake.deb") / 1000)) kB: installed, used and removed"
