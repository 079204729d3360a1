import { crc32Bytes, crc32Check, paddingOf, streamFooter, streamHeader, streamIndex } from './format.ts';

/** The maximum length of an uncompressed chunk of LZMA2. */
const chunkBytes = 65_536;

/** A block with one filter, LZMA2 with a dictionary of 8 MiB. */
const filters = Buffer.from([2, 0, 0x21, 1, 0x16, 0, 0, 0]);

/** An xz file with uncompressed content and its CRC32. Every xz decoder reads it. */
export function encodeXz(content: Buffer): Buffer {
  const data: Buffer[] = [];
  for (let at = 0; at < content.length; at += chunkBytes)
    data.push(...chunk(content.subarray(at, at + chunkBytes), at));
  data.push(Buffer.from([0]));
  const header = Buffer.concat([filters, crc32Bytes(filters)]);
  const length = data.reduce((sum, part) => sum + part.length, 0);
  const index = streamIndex([[header.length + length + crc32Check.bytes, content.length]]);
  return Buffer.concat([
    streamHeader(crc32Check.id),
    ...[header, ...data, paddingOf(length), crc32Bytes(content)],
    ...[index, streamFooter(crc32Check.id, index.length)],
  ]);
}

/** The first chunk resets the dictionary. */
function chunk(bytes: Buffer, at: number): Buffer[] {
  const header = Buffer.from([at === 0 ? 1 : 2, 0, 0]);
  header.writeUInt16BE(bytes.length - 1, 1);
  return [header, bytes];
}
