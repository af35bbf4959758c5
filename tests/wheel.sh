#!/usr/bin/env bash
# The wheel, as one who has nothing but it and a Python uses it: installed into a fresh virtual environment outside the
# tree, with the command, a program under the drop-in, and the types. Needs python3 with venv, binutils, and no GPU.
# Usage: tests/wheel.sh WHEEL
set -euo pipefail
wheel=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
unset PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD

python3 -m venv environment
python=$place/environment/bin/python3
"$python" -m pip install --quiet --no-index --disable-pip-version-check "$wheel"
package=$("$python" -c "import overtake_gpu; print(*overtake_gpu.__path__)")
export PATH=$place/environment/bin:$PATH

version=$(overtake --version)
[ "$version" = "$(python3 -m overtake_gpu --version)" ] || { echo "two commands: $version" >&2; exit 1; }
[ "overtake $(python3 -c 'import overtake_gpu; print(overtake_gpu.version())')" = "${version% (*}" ] ||
  { echo "the library is not of $version" >&2; exit 1; }
for file in man/man1/overtake-run.1 bash-completion/completions/overtake; do
  [ -e "environment/share/$file" ] || { echo "pip installed no $file" >&2; exit 1; }
done
OVERTAKE_BACKEND=soft overtake demo --seconds 0.1 >demo.txt 2>&1
grep -q "picture: " demo.txt || { cat demo.txt; exit 1; }

# A program under the drop-in on the software GPU: bulk on one thread's stream, and an urgent copy of another.
cat >program.py <<'END'
import ctypes

import overtake_gpu

BYTES = 32 << 20


def made(name, *arguments):
    found = ctypes.c_void_p()
    code = getattr(cuda, name)(ctypes.byref(found), *arguments)
    assert code == 0, (name, code)
    return found


cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
assert cuda.cuCtxSetCurrent(made("cuDevicePrimaryCtxRetain", 0)) == 0
assert overtake_gpu.deployment() == "preload", overtake_gpu.deployment()
bulk, urgent, pinned = made("cuStreamCreate", 1), made("cuStreamCreate", 1), made("cuMemHostAlloc", BYTES, 0)
memory = made("cuMemAlloc_v2", ctypes.c_size_t(BYTES))
overtake_gpu.set_stream_priority(bulk.value, 1)
for _ in range(4):
    assert cuda.cuMemcpyHtoDAsync_v2(memory, pinned, ctypes.c_size_t(BYTES), bulk) == 0
    with overtake_gpu.priority(5):
        assert cuda.cuMemcpyHtoDAsync_v2(memory, pinned, ctypes.c_size_t(4096), urgent) == 0
assert cuda.cuCtxSynchronize() == 0
counts = overtake_gpu.statistics()
print(sum(counts[f"{way}_copies"] for way in ("urgent", "kernel", "engine", "passed_on")), "copies")

with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
    array = arrays.array_of([1, 2, 3], "int32")
    arrays.host("sum", lambda elements: print("sum", sum(elements)), overtake_gpu.read(array)).wait()
END
for command in "overtake" "python3 -m overtake_gpu"; do
  LD_LIBRARY_PATH=$package/lib/overtake/soft $command run -- python3 program.py >said.txt
  printf '8 copies\nsum 6\n' | diff - said.txt
done

# docs/deploy.md: by hand.
mkdir reports
LD_LIBRARY_PATH=$package/lib/overtake/soft LD_PRELOAD=$package/lib/libovertake_preload.so \
  OVERTAKE_REPORT_DIR=$place/reports python3 program.py >said.txt
printf '8 copies\nsum 6\n' | diff - said.txt
grep -q '"deployment":"preload"' reports/*

if mypy --version >/dev/null 2>&1; then
  cat >typed.py <<'END'
import overtake_gpu

reveal_type(overtake_gpu.Dispatcher(devices=[0]).tasks().host("seven", lambda: 7).result())
END
  mypy --strict --cache-dir /dev/null --python-executable "$python" typed.py >types.txt || { cat types.txt; exit 1; }
  grep -qE 'Revealed type is "(builtins[.])?int"' types.txt || { cat types.txt; exit 1; }
fi
python3 -m pip uninstall --quiet --yes overtake-gpu
[ ! -e "$package" ] || { echo "left behind: $(find "$package")" >&2; exit 1; }
[ ! -e environment/share/man/man1/overtake-run.1 ] || { echo "left behind: man pages" >&2; exit 1; }
echo "wheel: $(basename "$wheel"), $(($(stat -c %s "$wheel") / 1000)) kB: installed, used and removed"
