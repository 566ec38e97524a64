#!/bin/bash
# Runs a command in another system's root, in a mount namespace that the caller has made:
#   GDR_OUTER_NAMESPACE=$(readlink /proc/self/ns/mnt) unshare --mount --propagation private \
#       scripts/in_root.sh ROOT TOP TREE [DIR...] -- COMMAND...
# TOP and the other directories, read-only, are seen under their own names; TREE, in TOP, can be
# written.
set -euo pipefail

root=$1
top=$2
tree=$3
shift 3

# Shows a directory under its own name, read-only.
show() {
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    mount -o remount,bind,ro "$root$1"
}

# The caller names the namespace that it comes from: nothing may ever be mounted there.
if [ "${GDR_OUTER_NAMESPACE:?see above}" = "$(readlink /proc/self/ns/mnt)" ]; then
    echo "in_root.sh: refusing to mount in the namespace of its caller" >&2
    exit 2
fi
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs tmpfs "$root/tmp"
# What lies in TOP is there before the rest: build/deps, for one.
show "$top"
while [ "$1" != -- ]; do
    case $1/ in
    "$top"/*) ;;
    *) show "$1" ;;
    esac
    shift
done
shift
mount --bind "$tree" "$root$tree"
cd /
exec chroot "$root" "$@"
