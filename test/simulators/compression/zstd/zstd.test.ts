import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeZstd } from '../../../world/compression/zstd/decode.ts';
import { encodeZstd } from '../../../world/compression/zstd/encode.ts';

const noise = (length: number): Buffer => createHash('shake256', { outputLength: length }).update('noise').digest();
/** Mostly holes, like an image. */
const content = Buffer.concat([noise(300_001), Buffer.alloc(5 * 2 ** 20), noise(77), Buffer.alloc(1000, 7)]);

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function decode(bytes: Buffer, size = 1000): Promise<Buffer> {
  const found: Buffer[] = [];
  for await (const chunk of decodeZstd(inPieces(bytes, size))) found.push(chunk);
  return Buffer.concat(found);
}

describe('a frame', () => {
  it('has the same content for every chunking of its input, and holes need almost no space', async () => {
    const frame = encodeZstd(content);
    for (const size of [1, 4096, frame.length])
      expect((await decode(frame.subarray(), size)).equals(content)).toBe(true);
    expect(frame.length).toBeLessThan(600_000);
  });

  it('may be empty', async () => {
    expect(await decode(encodeZstd(Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  it('that ends too early is detected at every length', async () => {
    const frame = encodeZstd(content);
    for (const end of [1, 12, 300_000, frame.length - 4, frame.length - 1]) {
      await expect(decode(frame.subarray(0, end), 4096)).rejects.toThrow(
        end < 4 ? /unsupported format/ : /premature end/,
      );
    }
    await expect(decode(Buffer.alloc(0))).rejects.toThrow('unexpected end of file');
  });

  it('with one wrong byte is detected at its end', async () => {
    const frame = encodeZstd(content);
    frame[200_000] = (frame[200_000] ?? 0) ^ 1;
    await expect(decode(frame, 4096)).rejects.toThrow("Restored data doesn't match checksum");
  });

  it('rejects data that is not zstd', async () => {
    await expect(decode(Buffer.from('hello'))).rejects.toThrow('unsupported format');
  });

  it('is read by the real program, which finds the same faults', (context) => {
    if (spawnSync('zstd', ['--version']).status !== 0) return context.skip('zstd is not installed here');
    const frame = encodeZstd(content);
    const real = (input: Buffer) => spawnSync('zstd', ['-dc'], { input, maxBuffer: 2 ** 25 });
    expect(real(frame).stdout.equals(content)).toBe(true);
    expect(real(frame.subarray(0, 100_000)).stderr.toString()).toContain('Read error (39) : premature end');
    frame[200_000] = (frame[200_000] ?? 0) ^ 1;
    expect(real(frame).stderr.toString()).toContain("Decoding error (36) : Restored data doesn't match checksum");
  });

  it('of the real program is read where its blocks are uncompressed', async (context) => {
    if (spawnSync('zstd', ['--version']).status !== 0) return context.skip('zstd is not installed here');
    const stored = noise(500_000);
    const { stdout } = spawnSync('zstd', ['-c', '--check'], { input: stored, maxBuffer: 2 ** 25 });
    expect((await decode(stdout, 4096)).equals(stored)).toBe(true);
  });
});
