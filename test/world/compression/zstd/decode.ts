import { ByteReader } from '../byte-reader.ts';
import { startChecksum, zstdMagic } from './encode.ts';

/** A fault in a stream, in the words of the program zstd. */
export class ZstdError extends Error {}

const endedEarly = (): ZstdError => new ZstdError('Read error (39) : premature end');

/**
 * The content of zstd frames, block by block. Compressed blocks are not supported: no simulator produces any. A stream
 * that ends too early or has a wrong checksum ends in a {@link ZstdError}.
 */
export async function* decodeZstd(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = new ByteReader(pieces, endedEarly);
  const begin = await source.peek(4);
  if (begin.length === 0) throw new ZstdError('unexpected end of file');
  while ((await source.peek(4)).length > 0) {
    const head = await source.peek(4);
    if (head.length < 4 || head.readUInt32LE() !== zstdMagic) throw new ZstdError('unsupported format');
    yield* decodeFrame(source);
  }
}

async function* decodeFrame(source: ByteReader): AsyncGenerator<Buffer> {
  await source.take(4);
  const [descriptor = 0] = await source.take(1);
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  await source.take(isSingle ? 0 : 1);
  await source.take([0, 1, 2, 4][descriptor & 3] ?? 0);
  await source.take(sizeFlag === 0 ? (isSingle ? 1 : 0) : 2 ** sizeFlag);
  const sum = startChecksum();
  for (let isLast = false; !isLast; ) {
    const header = (await source.take(3)).readUIntLE(0, 3);
    isLast = (header & 1) === 1;
    const bytes = await takeBlock(source, (header >> 1) & 3, header >> 3);
    sum.update(bytes);
    yield bytes;
  }
  if ((descriptor & 4) === 0) return;
  if (!sum.digest().equals(Buffer.from(await source.take(4)))) {
    throw new ZstdError("Decoding error (36) : Restored data doesn't match checksum");
  }
}

async function takeBlock(source: ByteReader, type: number, size: number): Promise<Buffer> {
  if (type === 0) return Buffer.from(await source.take(size));
  if (type === 1) return Buffer.alloc(size, await source.take(1));
  if (type === 2)
    throw new ZstdError("this world's decoder reads stored and repeated blocks only, and this one is compressed");
  throw new ZstdError('Decoding error (36) : Data corruption detected');
}
