#!/usr/bin/env bash
# The recipes of docs/deploy.md as they stand there, in a copy of this system (overlay.sh). What a daemon would do with
# them is done here by its manual: Docker with a Dockerfile, a kubelet with an init container, a runtime with a CDI
# file, slurmd with the output of a prolog, systemd with a service. Needs python3 with venv and the right to mount.
# Usage: tests/deploy.sh WHEEL
# Ends with 77, and a line that says why, where one of these is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD
export NEEDS="python3 -c 'import ensurepip, venv'"

# The first block of each section is a file of the section's name.
mkdir "$place/try" "$place/try/recipes"
awk -v into="$place/try/recipes/" '
  /^## / { name = tolower($NF); is_first = 1 }
  /^```/ { is_in = !is_in; if (!is_in) is_first = 0; next }
  is_in && is_first && name { print >(into name) }' docs/deploy.md
cp "$wheel" "$place/try/"

cat >"$place/try/serve.py" <<'END'
import ctypes

BYTES = ctypes.c_size_t(8 << 20)
cuda = ctypes.CDLL("libcuda.so.1")


def made(name, *arguments):
    found = ctypes.c_void_p()
    code = getattr(cuda, name)(ctypes.byref(found), *arguments)
    assert code == 0, (name, code)
    return found


assert cuda.cuInit(0) == 0
assert cuda.cuCtxSetCurrent(made("cuDevicePrimaryCtxRetain", 0)) == 0
bulk, urgent, pinned = made("cuStreamCreate", 1), made("cuStreamCreate", 1), made("cuMemHostAlloc", BYTES, 0)
memory = made("cuMemAlloc_v2", BYTES)
for _ in range(4):
    assert cuda.cuMemcpyHtoDAsync_v2(memory, pinned, BYTES, bulk) == 0
    assert cuda.cuMemcpyHtoDAsync_v2(memory, pinned, ctypes.c_size_t(4096), urgent) == 0
assert cuda.cuCtxSynchronize() == 0
END

cat >"$place/try/try.sh" <<'END'
recipe() { recipe=recipes/$1; [ -s "$recipe" ] || { echo "docs/deploy.md has no recipe for $1" >&2; exit 1; }; }
# The words are the environment and the command of a program; its report has to be in the folder, which is emptied.
reports() { # folder words...
  local folder=$1
  mkdir -p "$folder"
  shift
  env LD_LIBRARY_PATH=/try/soft "$@" >said 2>&1 || { echo "$recipe:"; cat said; exit 1; }
  grep -q '"deployment":"preload".*"state":"open"\|"state":"open".*"deployment":"preload"' "$folder"/*.json ||
    { echo "$recipe: no report of the drop-in in $folder:"; cat said "$folder"/*; exit 1; }
  rm "$folder"/*.json
  echo "$(basename "$recipe"): the program ran with the drop-in"
}

# An image with Python.
python3 -m venv /image
PATH=/image/bin:$PATH
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

recipe docker
while read -r instruction words; do
  case $instruction in
    COPY) eval "set -- $words"; mkdir -p "${@: -1}"; cp "$@" ;;
    RUN) sh -c "$words" ;;
    ENTRYPOINT) python3 -c 'import json, sys; print(*json.loads(sys.argv[1]), sep="\n")' "$words" >entrypoint ;;
    *) echo "docker: $instruction is not known here" >&2; exit 1 ;;
  esac
done <$recipe
mapfile -t entry <entrypoint
package=$(python3 -c "import overtake_gpu; print(*overtake_gpu.__path__)")
cp -r "$package/lib/overtake/soft" soft
recipe hand
reports /try/reports sh $recipe
recipe docker
reports /try/reports OVERTAKE_REPORT_DIR=/try/reports "${entry[@]}" python3 serve.py
mkdir /plain
cp "$package/bin/overtake" "$package/lib/libovertake_preload.so" /plain
reports /try/reports OVERTAKE_REPORT_DIR=/try/reports /plain/overtake run -- python3 serve.py

recipe kubernetes
mkdir /overtake
sh -c "$(sed -n 's/^ *command: \[sh, -c, "\(.*\)"\]$/\1/p' $recipe)"
mapfile -t variables < <(sed -n 's/^ *- {name: \([A-Z_]*\), value: \(.*\)}$/\1=\2/p' $recipe)
reports /overtake "${variables[@]}" python3 serve.py
diff <(env "${variables[@]}" sh -c 'echo unchanged' 2>&1) <(echo unchanged)

mkdir -p /opt/overtake /usr/local/lib
cp -r "$package/lib" /opt/overtake/
cp "$package/lib/libovertake_preload.so" /usr/local/lib/
recipe cdi
python3 - $recipe >edits <<'PYTHON'
import json, sys
edits = json.load(open(sys.argv[1]))["devices"][0]["containerEdits"]
for mount in edits["mounts"]:
    assert mount["hostPath"] == mount["containerPath"], "here a container has the files of its host"
print(*edits["env"], sep="\n")
PYTHON
mapfile -t variables <edits
reports /try/reports "${variables[@]}" OVERTAKE_REPORT_DIR=/try/reports python3 serve.py

recipe slurm
mapfile -t variables < <(sh $recipe | sed -n 's/^export //p')
reports /try/reports "${variables[@]}" OVERTAKE_REPORT_DIR=/try/reports python3 serve.py

recipe systemd
mapfile -t variables < <(sed -n 's/^Environment=//p' $recipe)
reports /var/lib/serve/reports env -i PATH="$PATH" LD_LIBRARY_PATH=/try/soft "${variables[@]}" python3 serve.py
if command -v systemd-analyze >/dev/null; then
  { cat $recipe; echo "ExecStart=$(command -v python3) /try/serve.py"; } >/etc/systemd/system/overtake-try.service
  systemd-analyze verify --man=no /etc/systemd/system/overtake-try.service >said 2>&1 &&
    ! grep overtake-try said || { echo "systemd-analyze:"; cat said; exit 1; }
fi
END
tests/overlay.sh "$place/try"
