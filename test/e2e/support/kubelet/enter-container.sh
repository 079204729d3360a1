#!/bin/sh
# Becomes a program in a container: `enter-container.sh ROOT IMAGE NODE [SOURCE TARGET]… -- [VARIABLE=VALUE]… PROGRAM
# [WORD]…`. Runs in a mount namespace of its own. ROOT is an empty folder; IMAGE holds the files of the image, which are
# added to the /usr of this machine; that /usr stands in for the one of the base image. NODE is the executable behind
# the command node. Each SOURCE is a folder that appears as TARGET. All files are read-only.
set -eu
root=$1 image=$2 node=$3
shift 3

mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir "$root/dev" "$root/etc" "$root/proc" "$root/run" "$root/tmp" "$root/usr" "$root/var"
ln -s ../run "$root/var/run"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount --rbind /usr "$root/usr"
for name in bin lib lib64 sbin; do
  if [ -L "/$name" ]; then
    ln -s "usr/$name" "$root/$name"
  elif [ -d "/$name" ]; then
    mkdir "$root/$name"
    mount --rbind "/$name" "$root/$name"
  fi
done
mount -t tmpfs -o mode=755 tmpfs "$root/usr/local"
mkdir "$root/usr/local/bin"
: >"$root/usr/local/bin/node"
mount --bind "$node" "$root/usr/local/bin/node"
for entry in "$image"/*; do
  [ -e "$entry" ] || continue
  mkdir -p "$root/${entry##*/}"
  mount --bind "$entry" "$root/${entry##*/}"
  mount -o remount,bind,ro "$root/${entry##*/}"
done
while [ "$1" != -- ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
mount -o remount,ro "$root/usr/local"
mount -o remount,ro "$root"
exec chroot "$root" env -i "$@"
