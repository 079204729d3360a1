/** The checksums that are specific to on-disk formats. */

const crcTable = (polynomial: number): Uint32Array =>
  Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1;
    return value >>> 0;
  });

const ieee = crcTable(0xedb88320);
const castagnoli = crcTable(0x82f63b78);

function updateCrc(values: Uint32Array, bytes: Uint8Array, start: number): number {
  let sum = start;
  for (const byte of bytes) sum = (sum >>> 8) ^ (values[(sum ^ byte) & 0xff] ?? 0);
  return sum >>> 0;
}

/** CRC-32C, of btrfs. */
export const crc32c = (bytes: Uint8Array): number => (updateCrc(castagnoli, bytes, 0xffffffff) ^ 0xffffffff) >>> 0;

/** LVM's: a CRC-32 with its own initial value and no final inversion. */
export const lvmChecksum = (bytes: Uint8Array): number => updateCrc(ieee, bytes, 0xf597a6cf);

/** The checksum of an md superblock: the sum of its 32-bit words, with the carry added again. */
export function mdChecksum(bytes: Buffer): number {
  let sum = 0n;
  for (let at = 0; at + 4 <= bytes.length; at += 4) sum += BigInt(bytes.readUInt32LE(at));
  return Number(((sum & 0xffffffffn) + (sum >> 32n)) & 0xffffffffn);
}
