import { jobPrelude } from './common.ts';

/**
 * Erases disks so that no tool finds a signature on them; arguments: serial number and WWN of each. All checks are made
 * for all disks before the first byte is written.
 *
 * TRIM is not used: it is a hint to the drive, and an old STATE partition survives it (pitfall 20). So the head of
 * every partition of the old table is zeroed in place before the table goes, because an image that is written later
 * puts partitions at the same offsets. Ceph keeps labels at 0, 1, 10, 100 and 1000 GiB.
 */
export const wipeScript = `${jobPrelude}
doing 'It looks for the disks.'
devices=
while [ $# -gt 0 ]; do
  find_disk "$1" "$2"
  devices="$devices $device"
  shift 2
done

is_ours() { case " $devices " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
# Disks that a path is or lies on.
below() { for disk in $(disks); do tree "$disk" | while read -r path type; do [ "$path" != "$1" ] || echo "$disk"; done; done; }
groups() { pvs --noheadings -o pv_name,vg_name 2>/dev/null | while read -r path group; do [ -z "$group" ] || echo "$path $group"; done; }

# What lies on ours and on others, too, is not ours to take apart.
check_shared() {
  local path disk group
  for path in $(for one in $devices; do holders "$one"; done); do
    for disk in $(below "$path"); do
      is_ours "$disk" || fail RESCUE_DISK_SHARED "$path lies on the disk $(column SERIAL "$disk") ($disk), too."
    done
  done
  for group in $1; do
    for path in $(groups | while read -r path name; do [ "$name" != "$group" ] || echo "$path"; done); do
      for disk in $(below "$path"); do
        is_ours "$disk" || fail RESCUE_DISK_SHARED "The volume group $group lies on the disk $(column SERIAL "$disk") ($disk), too."
      done
    done
  done
}
our_groups() { groups | while read -r path group; do for disk in $(below "$path"); do ! is_ours "$disk" || echo "$group"; done; done | sort -u; }

# udev puts arrays together again when it sees their members change, so it may take several rounds.
take_apart() {
  local round group one path left
  for round in 1 2 3 4 5; do
    for group in $(our_groups); do vgchange -an "$group"; done
    for one in $devices; do
      for path in $(holders "$one"); do case $path in */md*) [ ! -b "$path" ] || mdadm --stop "$path" ;; esac; done
    done
    udevadm settle --timeout=10 || true
    left=$(for one in $devices; do holders "$one"; done)
    [ -n "$left" ] || return 0
    sleep 1
  done
  fail RESCUE_DISK_BUSY "$(echo $left) cannot be taken apart."
}

erase_signatures() {
  local one path
  for one in $devices; do
    for path in $(tree "$one" | while read -r path type; do [ "$type" != part ] || echo "$path"; done) "$one"; do
      wipefs -a -q "$path" || return 1
      [ "$path" = "$one" ] || zero "$path" 0 4194304
      [ "$path" = "$one" ] || zero "$path" $(($(blockdev --getsize64 "$path") - 1048576)) 1048576
    done
  done
}

check_shared "$(our_groups)"
doing 'It takes arrays and volume groups apart.'
take_apart
doing 'It erases partitions.'
round=1
until erase_signatures; do
  [ "$round" -lt 5 ] || fail RESCUE_DISK_BUSY "Signatures cannot be erased: $(last "$folder/log")"
  round=$((round + 1))
  sleep 1
  take_apart
done

gib=1073741824
for device in $devices; do
  doing "It erases $device."
  size=$(blockdev --getsize64 "$device") || fail RESCUE_DISK_CHANGED "$device is gone."
  zero "$device" 0 16777216
  for mark in 1 10 100 1000; do zero "$device" $((mark * gib - 8388608)) 16777216; done
  zero "$device" $((size - 16777216)) 16777216
  blockdev --flushbufs "$device"
  blockdev --rereadpt "$device" || fail RESCUE_DISK_BUSY "The kernel keeps the old partitions of $device."
done
udevadm settle --timeout=30 || true

for device in $devices; do
  found=$(wipefs --noheadings "$device")
  [ -z "$found" ] || fail RESCUE_WIPE_INCOMPLETE "On $device there is still: $found"
  blkid -p "$device" >/dev/null
  [ $? -eq 2 ] || fail RESCUE_WIPE_INCOMPLETE "On $device there is still something: $(blkid -p "$device" 2>&1)"
  [ "$(tree "$device" | wc -l)" -eq 1 ] || fail RESCUE_WIPE_INCOMPLETE "$device still has partitions."
done
{ echo 'state done'; echo "bytes $zeroed"; echo "disks $(echo $devices | wc -w)"; } | result
`;
