import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The parts of xz files around their data (tukaani.org/xz/xz-file-format.txt, version 1.2.1). */
export const xzMagic = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]);

export const crc32Bytes = (bytes: Buffer): Buffer => {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(bytes));
  return sum;
};

/** The check of a block's content. */
export interface XzCheck {
  readonly id: number;
  readonly bytes: number;
  create(): { update(bytes: Buffer): void; digest(): Buffer };
}

const makeCrc32 = () => {
  let sum = 0;
  return {
    update: (bytes: Buffer) => {
      sum = crc32(bytes, sum);
    },
    digest: () => {
      const digest = Buffer.alloc(4);
      digest.writeUInt32LE(sum);
      return digest;
    },
  };
};
const makeSha256 = () => {
  const hash = createHash('sha256');
  return { update: (bytes: Buffer) => void hash.update(bytes), digest: () => hash.digest() };
};

export const crc32Check: XzCheck = { id: 1, bytes: 4, create: makeCrc32 };
export const xzChecks: readonly XzCheck[] = [crc32Check, { id: 10, bytes: 32, create: makeSha256 }];

/** Sizes of a block: with header and check but without padding, and of its content. */
export type BlockRecord = readonly [unpadded: number, content: number];

const flagsOf = (check: number): Buffer => Buffer.from([0, check]);

export const streamHeader = (check: number): Buffer =>
  Buffer.concat([xzMagic, flagsOf(check), crc32Bytes(flagsOf(check))]);

export function streamIndex(records: readonly BlockRecord[]): Buffer {
  const list = [0, ...toVli(records.length), ...records.flat().flatMap(toVli)];
  const bytes = Buffer.concat([Buffer.from(list), paddingOf(list.length)]);
  return Buffer.concat([bytes, crc32Bytes(bytes)]);
}

export function streamFooter(check: number, indexBytes: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(indexBytes / 4 - 1);
  const bytes = Buffer.concat([size, flagsOf(check)]);
  return Buffer.concat([crc32Bytes(bytes), bytes, Buffer.from('YZ')]);
}

/** Zeros up to a multiple of four. */
export const paddingOf = (length: number): Buffer => Buffer.alloc((4 - (length % 4)) % 4);

/** Seven bits per byte, lowest first. All bytes but the last have the highest bit set. */
function toVli(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...toVli(Math.floor(value / 128))];
}
