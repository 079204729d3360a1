import { jobPrelude } from './common.ts';

/**
 * Writes a disk image; arguments: serial number, WWN, URL, the program that decompresses, and the SHA-256 of the
 * download or an empty string.
 *
 * The image is decompressed into RAM first, where its holes cost nothing, so that it is known to be complete and
 * correct before a byte of the disk changes. Then the drive zeroes its range, which most drives do without receiving
 * the zeros, and the other blocks are written with direct I/O. In the end every byte is read back with direct I/O and
 * compared, one block while the next is read: this costs less than hashes of both sides, and reports where they differ.
 * Blocks are large and both sides of the comparison are in RAM, since `cmp` reads 4 KiB at a time.
 *
 * The first MiB, with the partition table, is written last, so an interrupted write never boots. The table holds the
 * size of the image, so that a disk that is too small is refused untouched.
 *
 * Each member of the pipe is a process of its own between FIFOs, and its exit status is checked.
 */
export const writeScript = `${jobPrelude}
url=$3
unpack=$4
expected=$5
mib=1048576
check_disk() {
  find_disk "$1" "$2"
  [ -z "$(holders "$device")" ] || fail RESCUE_DISK_BUSY "$(echo $(holders "$device")) lies on $device."
}
check_disk "$1" "$2"
[ "$(blockdev --getss "$device")" -eq 512 ] || fail RESCUE_DISK_UNSUITABLE "$device has sectors of $(blockdev --getss "$device") bytes."
size=$(blockdev --getsize64 "$device") || fail RESCUE_DISK_CHANGED "$device is gone."

doing 'It fetches the image.'
cd "$folder" || exit 1
rm -f fetched packed copy image back.* *.error
mkfifo fetched packed copy || exit 1
# What is asked for over TLS comes over TLS, wherever a redirect leads.
case $url in
  https://*) protocols='=https' ;;
  *) protocols='=http,https' ;;
esac
curl --fail --silent --show-error --location --globoff --proto "$protocols" --proto-redir "$protocols" \\
  --connect-timeout 30 --speed-limit 1000 --speed-time 60 \\
  --url "$url" >fetched 2>curl.error 8>&- &
curl=$!
tee copy <fetched >packed 2>tee.error &
tee=$!
# OpenSSL knows the instructions that processors have for this, and is several times as quick.
hash=sha256sum
! command -v openssl >/dev/null || hash='openssl dgst -sha256 -r'
$hash <copy >sum 2>sum.error &
sum=$!
# However far back an image refers: there is RAM enough. xz leaves holes by itself.
how=
[ "$unpack" != zstd ] || how='--long=31 --sparse'
"$unpack" -dc $how <packed >image 2>unpack.error &
unpacks=$!
helpers="$curl $tee $sum $unpacks"

wait "$unpacks"; unpacked=$?
wait "$curl"; fetched=$?
wait "$tee"; copied=$?
wait "$sum"; summed=$?
helpers=
case $fetched in
  0 | 23 | 141) ;;
  18 | 56 | 92) fail RESCUE_IMAGE_TRUNCATED "$(last curl.error)" ;;
  *) fail RESCUE_IMAGE_UNREACHABLE "$(last curl.error)" ;;
esac
if [ "$unpacked" -ne 0 ]; then
  case $(last unpack.error) in
    *[Pp]remature* | *[Uu]nexpected\\ end* | *[Tt]runcated* | *incomplete*) fail RESCUE_IMAGE_TRUNCATED "$(last unpack.error)" ;;
    *'No space left'*) fail RESCUE_COMMAND_FAILED "The rescue system has too little memory for the image: $(last unpack.error)" ;;
    *) fail RESCUE_IMAGE_WRONG "$unpack: $(last unpack.error)" ;;
  esac
fi
[ "$fetched$copied$summed" = 000 ] || fail RESCUE_COMMAND_FAILED "curl $fetched, tee $copied, sha256sum $summed: $(last tee.error)"
read -r actual rest <sum
[ -z "$expected" ] || [ "$actual" = "$expected" ] || fail RESCUE_IMAGE_WRONG "Its SHA-256 is $actual, not $expected."

length=$(stat -c %s image)
[ "$length" -ge "$mib" ] || fail RESCUE_IMAGE_WRONG "It has less than 1 MiB."
[ $((length % 512)) -eq 0 ] || fail RESCUE_IMAGE_WRONG 'It does not end with a whole sector.'
if [ "$(dd if=image bs=8 skip=64 count=1 status=none | tr -d '\\0')" != 'EFI PART' ]; then
  fail RESCUE_IMAGE_WRONG 'It does not begin with a partition table (GPT).'
fi
# The table ends with the image: where its second copy lies is in its header.
total=$((($(dd if=image bs=8 skip=68 count=1 status=none | od -An -tu8) + 1) * 512))
[ "$length" -ge "$total" ] || fail RESCUE_IMAGE_TRUNCATED "It ends at byte $length; by its partition table it has $total."
[ "$length" -le "$size" ] || fail RESCUE_DISK_TOO_SMALL "$device has $size bytes, the image $length."

# So many bytes as $2, at $1 of the image and of the disk. With ',sparse' as $3, blocks of zeros are left as they are there.
store() {
  dd if=image of="$device" bs=1M count="$2" skip="$1" seek="$1" iflag=count_bytes,skip_bytes oflag=direct,seek_bytes \\
    conv="nocreat,notrunc$3" status=none 2>write.error && return
  case $(last write.error) in
    *'No space left'*) fail RESCUE_DISK_TOO_SMALL "$device ends at $size bytes, and the image does not." ;;
    *'busy'*) fail RESCUE_DISK_BUSY "$device: $(last write.error)" ;;
    *) fail RESCUE_COMMAND_FAILED "Writing to $device: $(last write.error)" ;;
  esac
}
# So many bytes as $2, at $1 of the disk, into the file $3.
fetch_back() {
  dd if="$device" of="$3" bs=4M count="$2" skip="$1" iflag=direct,count_bytes,skip_bytes conv=notrunc status=none 2>back.error ||
    fail RESCUE_COMMAND_FAILED "Reading $device from byte $1 on: $(last back.error)"
}
# Whether so many bytes as $2, at $1 of the image, are those in the file $3.
same() { cmp -n "$2" -i "0:$1" "$3" image >compare.error 2>&1; }
differs() { fail RESCUE_WRITE_DIFFERS "$device, from byte $1 on: $(last compare.error)"; }
# A piece is not what it should be. Some drives promise zeros and keep what was there: they are sent now, once.
again() {
  store "$1" "$2" ''
  fetch_back "$1" "$2" back.2
  same "$1" "$2" back.2 || differs "$1"
  rm back.2
}
percent() { printf 'percent %s\\ndoing %s\\n' "$1" "$2" >doing.new && mv -f doing.new doing; }

doing 'It writes the image.'
check_disk "$1" "$2"
zero "$device" 0 "$mib"
holes=,sparse
blkdiscard --zeroout --offset "$mib" --length $((length - mib)) "$device" 2>zeroout.error || holes=
piece=$(df -Pk . | { read -r _; read -r _ _ _ room _; echo $((room / 1024 / 3)); })
[ "$piece" -le 64 ] || piece=64
[ "$piece" -ge 2 ] || piece=2
piece=$((piece * mib))
for offset in $(seq "$mib" "$piece" $((length - 1))); do
  percent $((offset * 50 / length)) 'It writes the image.'
  store "$offset" $((length - offset < piece ? length - offset : piece)) "$holes"
done
comparing=
back=back.0
for offset in $(seq "$mib" "$piece" $((length - 1))); do
  percent $((50 + offset * 50 / length)) 'It compares what the drive reads.'
  bytes=$((length - offset < piece ? length - offset : piece))
  # The files are used in turns: new ones would cost the kernel more than the bytes in them.
  [ "$back" = back.1 ] && back=back.0 || back=back.1
  fetch_back "$offset" "$bytes" "$back"
  [ -z "$comparing" ] || wait "$comparing" || again "$before" "$piece"
  same "$offset" "$bytes" "$back" &
  comparing=$!
  before=$offset
done
[ -z "$comparing" ] || wait "$comparing" || again "$before" "$bytes"
store 0 "$mib" ''
fetch_back 0 "$mib" back.0
same 0 "$mib" back.0 || { zero "$device" 0 "$mib"; differs 0; }
rm -f image back.*

doing 'It looks at what was written.'
sync
blockdev --flushbufs "$device"
blockdev --rereadpt "$device" || fail RESCUE_DISK_BUSY "The kernel does not read the new partitions of $device."
udevadm settle --timeout=30 || true
labels=" $(lsblk -nro PARTLABEL "$device" | tr '\\n' ' ') "
for label in EFI BIOS BOOT META; do
  case $labels in *" $label "*) ;; *) zero "$device" 0 "$mib"; fail RESCUE_IMAGE_WRONG "It has no partition $label, only:$labels" ;; esac
done
for label in STATE EPHEMERAL; do
  case $labels in *" $label "*) zero "$device" 0 "$mib"; fail RESCUE_IMAGE_WRONG "It has a partition $label: it is of a system that was in use." ;; esac
done
{ echo 'state done'; echo "bytes $length"; echo "compressedSha256 $actual"; if [ -n "$expected" ]; then echo 'checkedBy checksum'; else echo 'checkedBy structure'; fi; } | result
`;
