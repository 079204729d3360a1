import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeZstd } from '../../compression/zstd/encode.ts';
import { uuidFromText } from '../../disk-format/filesystems.ts';
import { encodeGpt, partitionTypes } from '../../disk-format/gpt.ts';

const mebibyte = 2 ** 20;

/**
 * A disk image of this many MiB with these partitions, each of 1 MiB, and noise in its first part, so that it spans
 * several chunks.
 */
export function makeRawImage(
  sizeMiB: number,
  labels: readonly string[] = ['EFI', 'BIOS', 'BOOT', 'META'],
  noiseMiB = sizeMiB / 2,
): Buffer {
  const size = sizeMiB * mebibyte;
  const image = Buffer.alloc(size);
  randomBytes(noiseMiB * mebibyte).copy(image, mebibyte);
  const partitions = labels.map((name, index) => ({
    number: index + 1,
    typeGuid: partitionTypes.linux,
    guid: uuidFromText(`image ${name}`),
    name,
    first: (index + 1) * 2048,
    last: (index + 2) * 2048 - 1,
  }));
  for (const { offset, bytes } of encodeGpt({ diskGuid: uuidFromText('image'), partitions }, size, 512))
    bytes.copy(image, offset);
  return image;
}

export interface ServedImage {
  readonly url: string;
  readonly raw: Buffer;
  readonly packed: Buffer;
  /** Of the response. */
  readonly sha256: string;
  /** Number of requests. */
  readonly requests: () => number;
  close(): void;
}

export interface ServeOptions {
  /** Sends the response in another way than at once. */
  readonly send?: (response: ServerResponse, packed: Buffer) => void;
  readonly packed?: Buffer;
}

/** Serves an image by HTTP on loopback, compressed with zstd. */
export async function serveImage(raw: Buffer, options: ServeOptions = {}): Promise<ServedImage> {
  const { packed = encodeZstd(raw) } = options;
  const send = options.send ?? ((response, bytes) => void response.end(bytes));
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.on('error', () => undefined);
    send(response, packed);
  });
  const listening = once(server, 'listening');
  server.listen(0, '127.0.0.1');
  await listening;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/image.raw.zst`,
    raw,
    packed,
    sha256: createHash('sha256').update(packed).digest('hex'),
    requests: () => requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
