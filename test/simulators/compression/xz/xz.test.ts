import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeXz } from '../../../world/compression/xz/decode.ts';
import { encodeXz } from '../../../world/compression/xz/encode.ts';

const noise = (length: number): Buffer => createHash('shake256', { outputLength: length }).update('noise').digest();
const content = Buffer.concat([noise(300_001), Buffer.alloc(200_000)]);

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function decode(bytes: Buffer, size = 1000): Promise<Buffer> {
  const found: Buffer[] = [];
  for await (const chunk of decodeXz(inPieces(bytes, size))) found.push(chunk);
  return Buffer.concat(found);
}

/** Changes the byte at an offset; a negative offset counts from the end. */
function corruptByte(file: Buffer, place: number): Buffer {
  const at = place < 0 ? file.length + place : place;
  const spoilt = Buffer.from(file);
  spoilt[at] = (spoilt[at] ?? 0) ^ 1;
  return spoilt;
}

/** Offsets within the magic, header, block header, data, checksum, index and footer. */
const corruptedOffsets = [8, 14, 200_000, -30, -20, -3] as const;
const ends = [11, 20, 300_000, -21, -1] as const;
const withXz = spawnSync('xz', ['--version']).status === 0;
const real = (input: Buffer, ...args: string[]) => spawnSync('xz', args, { input, maxBuffer: 2 ** 25 });

describe('an xz file', () => {
  it('has the same content for every chunking of its input', async () => {
    const file = encodeXz(content);
    for (const size of [7, 4096, file.length]) expect((await decode(file, size)).equals(content)).toBe(true);
    expect(await decode(encodeXz(Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
    expect((await decode(Buffer.concat([file, file]), 4096)).length).toBe(2 * content.length);
  });

  it.each(ends)('that ends too early (%d) is detected', async (end) => {
    await expect(decode(encodeXz(content).subarray(0, end))).rejects.toThrow('Unexpected end of input');
  });

  it.each(corruptedOffsets)('with one wrong byte (%d) is detected', async (place) => {
    await expect(decode(corruptByte(encodeXz(content), place))).rejects.toThrow('Compressed data is corrupt');
  });

  it.each(['', 'hello'])('rejects other data: %j', async (text) => {
    await expect(decode(Buffer.from(text))).rejects.toThrow('File format not recognized');
  });

  it.skipIf(!withXz)('is read by the real program, which finds the same faults', () => {
    const file = encodeXz(content);
    expect(real(file, '-dc').stdout.equals(content)).toBe(true);
    for (const end of ends) {
      expect(real(file.subarray(0, end), '-dc').stderr.toString()).toContain('Unexpected end of input');
    }
    for (const place of corruptedOffsets) {
      expect(real(corruptByte(file, place), '-dc').stderr.toString()).toContain('Compressed data is corrupt');
    }
  });

  it.skipIf(!withXz).each(['crc32', 'sha256'])(
    'of the real program is read where it is uncompressed, with %s',
    async (check) => {
      const stored = noise(500_000);
      const { stdout } = real(stored, '-c', `--check=${check}`);
      expect((await decode(stdout, 4096)).equals(stored)).toBe(true);
      await expect(decode(corruptByte(stdout, 300_000))).rejects.toThrow('Compressed data is corrupt');
    },
  );
});
