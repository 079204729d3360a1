#!/bin/busybox sh
# The only program of the small Linux in the tests. It prints the machine's properties on the serial console, one fact a
# line, makes the disk bootable as an installer does, then serves its UUID over HTTP and waits for the power button.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
read -r modules </modules/order
for module in $modules; do insmod "/modules/$module.ko"; done

argument() { tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"; }
fact() { echo "fact $*"; }
label() { dd if="$1" bs=1 skip=32808 count=32 2>/dev/null | sed 's/ *$//'; }

# Devices appear shortly after their drivers.
tries=0
while [ "$(ls /dev/vd* /dev/sr* 2>/dev/null | wc -l)" -lt "$(argument drives)" ] && [ $tries -lt 300 ]; do
  usleep 100000
  tries=$((tries + 1))
done

fact booted disc
fact firmware "$([ -d /sys/firmware/efi ] && echo uefi || echo bios)"
fact uuid "$(cat /sys/class/dmi/id/product_uuid)"
fact processors "$(grep -c ^processor /proc/cpuinfo)"
fact x86-64-v2 "$(grep -m1 ^flags /proc/cpuinfo | tr ' ' '\n' | grep -cxE 'cx16|lahf_lm|popcnt|pni|sse4_1|sse4_2|ssse3')"
fact memory "$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
for disk in /sys/block/vd*; do fact disk "${disk##*/}" "$(($(cat "$disk/size") * 512))" "$(cat "$disk/serial")"; done
for disc in /sys/block/sr*; do fact disc "${disc##*/}" "$(($(cat "$disc/size") * 512))" "$(label "/dev/${disc##*/}")"; done
for nic in /sys/class/net/*; do [ "${nic##*/}" = lo ] || fact nic "$(cat "$nic/address")"; done

# ISO 9660 has two extensions for long names. Both must work, because a kernel may support only one of them.
mkdir /seed /www
for disc in /dev/sr*; do
  [ "$(label "$disc")" = cidata ] || continue
  for options in ro ro,nojoliet ro,norock; do
    mount -t iso9660 -o "$options" "$disc" /seed || continue
    for path in /seed/*; do
      fact file "${disc##*/}" "$options" "${path##*/}" "$(wc -c <"$path")" "$(sha256sum "$path" | cut -d' ' -f1)"
    done
    address=$(sed -n 's/^ *- "\([0-9./]*\)"$/\1/p' /seed/network-config | head -n1)
    umount /seed
  done
done

dd if=/dev/sr0 of=/dev/vda bs=64k iflag=skip_bytes,count_bytes skip="$((0x800 * $(argument sector | sed 's/^0*//')))" \
  count="$((0x800 * $(argument sectors)))" 2>/dev/null
sync
fact installed

for nic in /sys/class/net/*; do
  [ "${nic##*/}" = lo ] && continue
  ip address add "$address" dev "${nic##*/}"
  ip link set "${nic##*/}" up
done
cat /sys/class/dmi/id/product_uuid >/www/index.html
httpd -h /www
fact serving "$address"
for event in /dev/input/event*; do
  { dd if="$event" bs=24 count=1 >/dev/null 2>&1 && fact button && poweroff -f; } &
done
fact waiting
wait
