import { ByteReader } from '../byte-reader.ts';
import {
  type BlockRecord,
  crc32Bytes,
  paddingOf,
  streamFooter,
  streamHeader,
  streamIndex,
  type XzCheck,
  xzChecks,
  xzMagic,
} from './format.ts';

/** A fault in a stream, in the words of the program xz. */
export class XzError extends Error {}

const endedEarly = (): XzError => new XzError('Unexpected end of input');

/** Throws when a stream violates its format. */
function assertValid(isRight: boolean): void {
  if (!isRight) throw new XzError('Compressed data is corrupt');
}

/**
 * The content of xz files, chunk by chunk. Compressed chunks are not supported: no simulator produces any. A stream
 * that ends too early or has a wrong checksum ends in an {@link XzError}.
 */
export async function* decodeXz(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = new ByteReader(pieces, endedEarly);
  if (!(await source.peek(xzMagic.length)).equals(xzMagic)) throw new XzError('File format not recognized');
  while ((await source.peek(1)).length > 0) yield* decodeStream(source);
}

async function* decodeStream(source: ByteReader): AsyncGenerator<Buffer> {
  const header = await source.take(12);
  const id = header[7] ?? 0;
  assertValid(header.equals(streamHeader(id)));
  const check = xzChecks.find((one) => one.id === id);
  if (!check) throw new XzError("this world's decoder knows the checks CRC32 and SHA-256 only");
  const records: BlockRecord[] = [];
  for (;;) {
    const [size] = await source.peek(1);
    if (size === undefined) throw endedEarly();
    if (size === 0) break;
    records.push(yield* decodeBlock(source, (size + 1) * 4, check));
  }
  const index = streamIndex(records);
  await expectBytes(source, index);
  await expectBytes(source, streamFooter(id, index.length));
}

async function* decodeBlock(
  source: ByteReader,
  headerBytes: number,
  check: XzCheck,
): AsyncGenerator<Buffer, BlockRecord> {
  const header = Buffer.from(await source.take(headerBytes));
  assertValid(crc32Bytes(header.subarray(0, -4)).equals(header.subarray(-4)));
  if (!isPlain(header)) throw new XzError("this world's decoder knows the filter LZMA2 only");
  const sum = check.create();
  let [packed, content] = [1, 0];
  for (;;) {
    const [control = 0] = await source.take(1);
    if (control === 0) break;
    if (control >= 0x80) throw new XzError("this world's decoder reads stored chunks only, and this one is compressed");
    assertValid(control <= 2 && (control === 1 || content > 0));
    const bytes = Buffer.from(await source.take((await source.take(2)).readUInt16BE() + 1));
    packed += 3 + bytes.length;
    content += bytes.length;
    sum.update(bytes);
    yield bytes;
  }
  await expectBytes(source, paddingOf(packed));
  await expectBytes(source, sum.digest());
  return [headerBytes + packed + check.bytes, content];
}

/** One filter, LZMA2. Sizes may precede it. */
function isPlain(header: Buffer): boolean {
  const flags = header[1] ?? 0;
  let at = 2;
  for (const bit of [0x40, 0x80]) {
    if ((flags & bit) === 0) continue;
    while ((header[at] ?? 0) >= 0x80) at += 1;
    at += 1;
  }
  return (flags & 0x3f) === 0 && header[at] === 0x21;
}

async function expectBytes(source: ByteReader, wanted: Buffer): Promise<void> {
  assertValid((await source.take(wanted.length)).equals(wanted));
}
