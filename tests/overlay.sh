#!/usr/bin/env bash
# Runs the script try.sh of a folder in a copy of this system's files that is thrown away: an overlay in memory, which
# goes with the namespace that it is mounted in. There the folder is /try, and PATH is as it is here, with the folders
# of root. A file system of its own, such as one for /home, is empty in the copy.
# Ends as the script does. It ends with 77, and a line that says why, if there can be no copy, or if the command that
# NEEDS has (a shell's, for instance `command -v dpkg`) fails there.
# Usage: [NEEDS=COMMAND] tests/overlay.sh FOLDER
set -euo pipefail
folder=$(realpath "$1")
place=$(mktemp -d)
trap 'rmdir "$place"' EXIT
export PATH=$PATH:/usr/sbin:/sbin NEEDS=${NEEDS:-true}
skip() { echo "no copy of this system: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may mount one"
unshare --mount true 2>/dev/null || skip "there is no unshare, or no right to a namespace"
unshare --mount bash -euo pipefail -c '
skip() { echo "no copy of this system: $1"; exit 77; }
cd "$0"
{ mount -t tmpfs overtake . && cd "$0" && mkdir upper work root &&
  mount -t overlay overtake -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" root &&
  mount --rbind /dev root/dev && mount --rbind /proc root/proc && mount -t tmpfs overtake root/dev/shm &&
  chroot root /usr/bin/env true; } 2>/dev/null || skip "an overlay cannot be mounted"
chroot root /usr/bin/env bash -c "$NEEDS" >/dev/null 2>&1 || skip "it fails there: $NEEDS"
cp -r "$1" root/try
exec chroot root /usr/bin/env bash -euo pipefail -c "cd /try && . ./try.sh"' "$place" "$folder"
