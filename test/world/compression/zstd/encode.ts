import createXxhash from 'xxhash-wasm';

const { create64 } = await createXxhash();

/** The maximum length of a block. */
const blockBytes = 128 * 1024;

/**
 * A zstd frame of raw blocks and RLE blocks, i.e. one byte and its count (RFC 8878), with a content checksum. Holes
 * become small, and every zstd decoder reads the frame.
 */
export function encodeZstd(content: Buffer): Buffer {
  const parts: Buffer[] = [frameHeader(content.length)];
  for (let at = 0; at < content.length || at === 0; at += blockBytes) {
    parts.push(...block(content.subarray(at, at + blockBytes), at + blockBytes >= content.length));
  }
  return Buffer.concat([...parts, startChecksum().update(content).digest()]);
}

export const zstdMagic = 0xfd2fb528;

/** One segment, its size in eight bytes, and a checksum at the end. */
function frameHeader(size: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32LE(zstdMagic, 0);
  header.writeUInt8(0b1110_0100, 4);
  header.writeBigUInt64LE(BigInt(size), 5);
  return header;
}

function block(bytes: Buffer, isLast: boolean): Buffer[] {
  const [first = 0] = bytes;
  const isRun = bytes.length > 1 && bytes.equals(Buffer.alloc(bytes.length, first));
  const header = Buffer.alloc(3);
  header.writeUIntLE((bytes.length << 3) | ((isRun ? 1 : 0) << 1) | (isLast ? 1 : 0), 0, 3);
  return [header, isRun ? bytes.subarray(0, 1) : bytes];
}

/** The checksum of a frame's content: the four low bytes of its XXH64. */
export function startChecksum() {
  const sum = create64();
  const checksum = {
    update: (bytes: Buffer) => {
      sum.update(bytes);
      return checksum;
    },
    digest: (): Buffer => {
      const four = Buffer.alloc(4);
      four.writeUInt32LE(Number(sum.digest() & 0xffffffffn));
      return four;
    },
  };
  return checksum;
}
