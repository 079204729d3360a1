# Simulates the rescue system with the real tools of this machine: a root in RAM over its files, loop devices as disks,
# and OpenSSH. Run it in namespaces of its own for mounts, network, processes and names:
#
#   unshare --mount --net --pid --uts --fork --kill-child --propagation private bash real-rescue.sh FOLDER COMMAND...
#
# FOLDER holds the contents of its disks (0.raw, 1.raw, …) and the public key that may log in (key). COMMAND runs beside
# it, in the same network. Where the kernel does not scan partition tables, the script does; without udev it fills
# udev's database.
set -eu
folder=$1
shift
base=$(mktemp -d)
loops=
leave() {
  cd /
  for loop in $loops; do
    partx -d "$loop" 2>/dev/null || true
    losetup -d "$loop" || true
  done
  umount -R -l "$base" 2>/dev/null || true
  rmdir "$base" || true
}
trap leave EXIT
mount -t tmpfs -o size=2g tmpfs "$base"
mkdir "$base/upper" "$base/work" "$base/root"
root=$base/root
mount -t overlay -o lowerdir=/,upperdir="$base/upper",workdir="$base/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
# The firmware of this machine stays hidden: the system has a BIOS, or UEFI with the variables in FOLDER/efivars.
mount -t tmpfs tmpfs "$root/sys/firmware"
variables=$root/sys/firmware/efi/efivars
if [ -d "$folder/efivars" ]; then
  mkdir -p "$variables"
  mount -t tmpfs tmpfs "$variables"
  cp "$folder"/efivars/* "$variables"
  mount -o remount,ro "$variables"
fi
mount -t tmpfs tmpfs "$root/run"
# Devices of this machine have no nodes here, so nothing can be written to them.
mount -t tmpfs tmpfs "$root/dev"
mkdir -p "$root/run/udev/data" "$root/run/sshd" "$root/run/lvm" "$root/run/lock" "$root/dev/disk/by-id" "$root/usr/local/sbin"
for one in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "$root/dev/${one%:*}" c 1 "${one#*:}"; done
ln -s /proc/self/fd "$root/dev/fd"
echo rescue >/proc/sys/kernel/hostname
printf 'Welcome to the Hetzner Rescue System.\n' >"$root/etc/motd"
ip link set lo up
if ip link add eth0 address 02:00:5e:00:00:01 type dummy 2>/dev/null; then
  ip address add 192.0.2.2/24 dev eth0
  ip link set eth0 up
  ip route add default via 192.0.2.1
fi

number=0
for file in "$folder"/*.raw; do
  loop=$(losetup -f --show "$file")
  loops="$loops $loop"
  echo "${loop#/dev/} SERIAL$number eui.000000000000000$number" >>"$root/run/drives"
  number=$((number + 1))
done

cat >"$root/usr/local/sbin/udevadm" <<'END'
#!/bin/bash
[ "$1" = settle ] || exit 0
keep() {
  numbers=$(cat "/sys/class/block/$1/dev")
  [ -b "/dev/$1" ] || mknod "/dev/$1" b "${numbers%:*}" "${numbers#*:}"
  { echo I:1; printf '%b' "$2"; blkid -p -o udev "/dev/$1" | sed 's/^/E:/'; echo V:1; } >"/run/udev/data/b$numbers"
}
while read -r name serial wwn; do
  for path in "/dev/$name"p*; do [ ! -b "$path" ] || rm "$path"; done
  keep "$name" "E:ID_SERIAL_SHORT=$serial\nE:ID_WWN=$wwn\n"
  ln -sf "../../$name" "/dev/disk/by-id/ata-$serial"
  for path in "/sys/block/$name/$name"p*; do [ ! -d "$path" ] || keep "$(basename "$path")" ''; done
done </run/drives
exit 0
END
cat >"$root/usr/local/sbin/lsblk" <<'END'
#!/bin/bash
# Loop devices are the only disks here.
disks=()
[[ ${@: -1} == /dev/* ]] || mapfile -t disks < <(sed 's,^\([^ ]*\).*,/dev/\1,' /run/drives)
/usr/bin/lsblk "$@" "${disks[@]}" | sed 's/ loop$/ disk/; s/^loop$/disk/; s/TYPE="loop"/TYPE="disk"/'
exit "${PIPESTATUS[0]}"
END
cat >"$root/usr/local/sbin/blockdev" <<'END'
#!/bin/bash
[ "$1" = --rereadpt ] || exec /usr/sbin/blockdev "$@"
partx -d "$2" 2>/dev/null
partx -a "$2" 2>/dev/null
exit 0
END
cat >"$root/usr/local/sbin/reboot" <<'END'
#!/bin/bash
touch /run/went-down
END
cat >"$root/usr/local/sbin/efibootmgr" <<'END'
#!/bin/bash
export EFIVARFS_PATH=/sys/firmware/efi/efivars/
order=$(echo "$EFIVARFS_PATH"BootOrder-*)
size=$(stat -c %s "$order")
/usr/bin/efibootmgr "$@" || exit
# Written bytes replace a variable; in a file, the tail of the old content would stay.
case " $* " in
  *' -B '*) truncate -s $((size - 2)) "$order" ;;
  *' -o '*) truncate -s $((4 + 2 * $(tr ',' '\n' <<<"${@: -1}" | wc -l))) "$order" ;;
esac
END
chmod 755 "$root"/usr/local/sbin/{udevadm,lsblk,blockdev,reboot,efibootmgr}
chroot "$root" /usr/local/sbin/udevadm settle
for loop in $loops; do chroot "$root" /usr/local/sbin/blockdev --rereadpt "$loop"; done
chroot "$root" /usr/local/sbin/udevadm settle

cp "$folder/key" "$root/run/key"
ssh-keygen -q -t ed25519 -N '' -f "$root/run/host-key"
chroot "$root" /usr/sbin/sshd -f /dev/null -p 2222 -h /run/host-key -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile=/run/key \
  -o StrictModes=no -o UsePAM=no -o PasswordAuthentication=no -o PidFile=none
"$@"
