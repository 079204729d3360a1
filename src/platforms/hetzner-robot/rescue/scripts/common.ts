/** Folder of all our files in the rescue system. It is in RAM and does not survive a boot. */
export const jobHome = '/run/cluster-provider-talos';

/** The first lines of every script: English messages, and a full PATH whatever the login shell has set. */
export const shellEnvironment = `
export LC_ALL=C LVM_SUPPRESS_FD_WARNINGS=1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
`;

/**
 * Starts or watches a job: `$1` is its folder, `$2` the number of bytes of its script, which arrives on standard input;
 * the other arguments are the script's. For dash.
 *
 * A job and all its child processes hold the lock of its folder while any of them lives. So a job never runs twice at
 * the same time, and a dead job is detected whatever became of its process id. A connection that breaks while the
 * script arrives leaves a short file, which is never run. A failure is reported once; the next call starts the job
 * again.
 */
export const jobLauncher = `${shellEnvironment}
set -u
umask 077
folder=$1
bytes=$2
shift 2
tell() {
  [ -s "$folder/result" ] || return 0
  cat "$folder/result"
  if grep -q '^state failed' "$folder/result"; then rm -f "$folder/result" "$folder/starts"; fi
  exit 0
}
mkdir -p "$folder" || exit 1
tell
exec 9>>"$folder/lock"
if ! flock -n 9; then
  tell
  echo 'state running'
  [ ! -s "$folder/doing" ] || cat "$folder/doing"
  exit 0
fi
tell
cat >"$folder/script.new"
[ "$(wc -c <"$folder/script.new")" -eq "$bytes" ] || { echo 'the script did not arrive whole' >&2; exit 1; }
mv -f "$folder/script.new" "$folder/script"
echo >>"$folder/starts"
if [ "$(wc -l <"$folder/starts")" -gt 3 ]; then
  echo 'state failed'
  echo 'code RESCUE_COMMAND_FAILED'
  echo 'message It ended three times without a result.'
  rm -f "$folder/starts"
  exit 0
fi
setsid bash "$folder/script" "$folder" "$@" </dev/null >"$folder/log" 2>&1 &
echo 'state running'
echo 'doing The job was started and has not reported yet.'
`;

/**
 * The first lines of every job. For bash, which every rescue system has, while its `sh` is dash. `$1` is the job's
 * folder. When the job ends without a result, the last lines of its log are reported.
 */
export const jobPrelude = `${shellEnvironment}
set -u
umask 077
folder=$1
shift
doing() { printf 'doing %s\\n' "$1" >"$folder/doing.new" && mv -f "$folder/doing.new" "$folder/doing"; }
result() { cat >"$folder/result.new" && mv -f "$folder/result.new" "$folder/result"; }
last() { tail -n 3 "$1" 2>/dev/null | tr '\\n\\t' '  ' | head -c 300; }
told=
fail() {
  told=yes
  { echo 'state failed'; echo "code $1"; printf 'message %s\\n' "$(printf '%s' "$2" | tr '\\n\\t' '  ' | head -c 600)"; } | result
  exit 1
}
helpers=
finish() {
  local code=$?
  [ -z "$helpers" ] || kill $helpers 2>/dev/null
  # A failure may have been taken away already by whoever it was told.
  [ -n "$told" ] || [ -s "$folder/result" ] || fail RESCUE_COMMAND_FAILED "It ended with status $code: $(last "$folder/log")"
}
trap finish EXIT

exec 8>>/run/cluster-provider-talos/lock
doing 'It waits for an earlier job.'
flock 8

# The last look at who we are: what follows destroys data.
case $(findmnt -no FSTYPE /) in
  tmpfs | ramfs | rootfs | overlay | aufs) ;;
  *) fail RESCUE_FOREIGN_SYSTEM 'The root of this system lies on a disk.' ;;
esac

# The value of a column of lsblk for one device. Its escapes are those of printf.
column() { printf '%b' "$(lsblk -dnro "$1" "$2")"; }
disks() { lsblk -dnpro NAME,TYPE | while read -r path type; do [ "$type" != disk ] || echo "$path"; done; }
# Everything that lies on a device, with it.
tree() { lsblk -nrpo KNAME,TYPE "$1"; }
# What is neither a disk nor a partition: arrays, volumes, what is unlocked.
holders() { tree "$1" | while read -r path type; do case $type in disk | part) ;; *) echo "$path" ;; esac; done; }
mounted() { lsblk -nro MOUNTPOINT "$1" | tr -d '\\n'; }

# The path of the one disk with this serial number and this WWN in $device. udev may not know them yet.
find_disk() {
  local tries=0 count path
  while :; do
    udevadm settle --timeout=30 || true
    device=
    count=0
    for path in $(disks); do
      [ -z "$1" ] || [ "$(column SERIAL "$path")" = "$1" ] || continue
      [ -z "$2" ] || [ "$(column WWN "$path")" = "$2" ] || continue
      device=$path
      count=$((count + 1))
    done
    [ "$count" -eq 0 ] && [ "$tries" -lt 30 ] || break
    tries=$((tries + 1))
    sleep 1
  done
  [ "$count" -ne 0 ] || fail RESCUE_DISK_CHANGED "No disk has the serial number '$1' and the WWN '$2'."
  [ "$count" -eq 1 ] || fail RESCUE_DISK_CHANGED "$count disks have the serial number '$1' and the WWN '$2'."
  [ -b "$device" ] || fail RESCUE_DISK_CHANGED "$device is no block device."
  [ -z "$(mounted "$device")" ] || fail RESCUE_DISK_BUSY "$device ($1) is mounted."
}

# Zeros at $2, so many bytes as $3, on $1; what would be before the beginning or behind the end is left out.
zeroed=0
zero() {
  local from=$2 to=$(($2 + $3)) end
  end=$(blockdev --getsize64 "$1") || fail RESCUE_DISK_CHANGED "$1 is gone."
  [ "$from" -ge 0 ] || from=0
  [ "$to" -le "$end" ] || to=$end
  [ "$from" -lt "$to" ] || return 0
  dd if=/dev/zero of="$1" bs=1M count=$((to - from)) seek="$from" iflag=count_bytes oflag=direct,seek_bytes \\
    conv=nocreat,notrunc,fsync status=none || fail RESCUE_COMMAND_FAILED "Zeros on $1: $(last "$folder/log")"
  zeroed=$((zeroed + to - from))
}
`;
