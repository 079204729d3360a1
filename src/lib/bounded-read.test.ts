import { describe, expect, it } from 'vitest';
import { ContentTooLargeError, readBounded } from './bounded-read.ts';

/** A response body without end that counts the chunks taken of it. */
function endless(chunk: Uint8Array) {
  const taken = { pieces: 0, isEnded: false };
  async function* pieces() {
    try {
      for (;;) {
        taken.pieces += 1;
        yield chunk;
      }
    } finally {
      taken.isEnded = true;
    }
  }
  return { taken, pieces };
}

describe('the response of another system', () => {
  const of = async function* (...texts: string[]) {
    for (const text of texts) yield Buffer.from(text);
  };

  it('is read whole up to its limit', async () => {
    expect((await readBounded(of('ab', 'c'), 200)).toString()).toBe('abc');
    expect((await readBounded(of('x'.repeat(200)), 200)).length).toBe(200);
    await expect(readBounded(of('x'.repeat(201)), 200)).rejects.toThrow(ContentTooLargeError);
  });

  it.each([
    ['long pieces', 100_000, 11],
    // Every chunk costs some memory, however few bytes it has.
    ['pieces of one byte', 1, 16_140],
    ['empty pieces', 0, 16_400],
  ])('is not read further when it never ends, in %s', async (_, size, max) => {
    const { taken, pieces } = endless(new Uint8Array(size));
    await expect(readBounded(pieces(), 2 ** 20)).rejects.toThrow('the answer is longer than 1048576 bytes');
    expect(taken.isEnded).toBe(true);
    expect(taken.pieces).toBeLessThanOrEqual(max);
  });
});
