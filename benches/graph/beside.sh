#!/usr/bin/env bash
# The cost of a task in the graph, beside oneTBB's flow graph and rayon's plain tasks: in one process, in turns.
# Usage: benches/graph/beside.sh [threads ...; default 1 and the number of processors]
#
# The same of the whole dispatcher, on a driver that does nothing. Fails if a task in the graph, or from ready to
# complete in the dispatcher, costs more than in the flow graph. Needs a C++ compiler and oneTBB (Debian, Ubuntu:
# libtbb-dev); nothing else of the project does.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
compiler=${CXX:-c++}
command -v "$compiler" >/dev/null || {
  echo "there is no C++ compiler, so there is no comparison with oneTBB: install one, or name it in CXX" >&2
  exit 64
}
printf '#include <oneapi/tbb/flow_graph.h>\nint main() { tbb::flow::graph graph; }\n' >"$build/have.cpp"
"$compiler" -std=c++17 "$build/have.cpp" -ltbb -o "$build/have" 2>/dev/null || {
  echo "oneTBB is missing, so there is no comparison with it: install it (Debian, Ubuntu: apt install libtbb-dev)" >&2
  exit 64
}
"$compiler" -std=c++17 -O3 -Wall -Wextra -Werror -shared -fPIC "$here/beside/flow.cpp" -ltbb -o "$build/libbeside.so"
[ $# -gt 0 ] || set -- $(printf '1\n%s\n' "$(nproc)" | uniq)
cd "$here/../../graph"
export BESIDE_LIBRARY=$build/libbeside.so
failed=0
cargo bench --quiet --bench beside -- "$@" || failed=$?
cargo bench --quiet -p overtake --bench dispatch -- beside "$@" || failed=$?
exit "$failed"
