#!/usr/bin/env bash
# Runs the script try.sh of a folder in a copy of this system's files that is thrown away: an overlay in memory, which
# goes with the namespace that it is mounted in. There the folder is /try, and PATH is as it is here.
# Ends as the script does; with 77 without the right to mount, which root has.
# Usage: tests/overlay.sh FOLDER
set -euo pipefail
folder=$(realpath "$1")
place=$(mktemp -d)
trap 'rmdir "$place"' EXIT
unshare --mount true 2>/dev/null || exit 77
unshare --mount bash -euo pipefail -c '
cd "$0"
{ mount -t tmpfs overtake . && cd "$0" && mkdir upper work root &&
  mount -t overlay overtake -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" root; } 2>/dev/null || exit 77
cp -r "$1" root/try
for system in dev proc; do mount --rbind "/$system" "root/$system"; done
exec chroot root /usr/bin/env PATH="$PATH" bash -euo pipefail -c "cd /try && . ./try.sh"' "$place" "$folder"
