import { expect, it } from 'vitest';
import { gatherPieces } from './gather-pieces.ts';

/** In batches of none, one, two, … pieces. */
async function* split(content: Buffer, size: number) {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) pieces.push(content.subarray(at, at + size));
  for (let count = 0; pieces.length > 0; count += 1) yield pieces.splice(0, count);
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return all;
}

it.each([
  [1, 10],
  [3, 10],
  [10, 10],
  [25, 10],
  [40, 10],
])('gathers pieces of %i bytes to pieces of %i bytes', async (size, wanted) => {
  const content = Buffer.from(Array.from({ length: 33 }, (_, i) => i));
  const pieces = await collect(gatherPieces(split(content, size), wanted));
  expect(pieces.map(({ length }) => length)).toEqual([10, 10, 10, 3]);
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
});

it('gives nothing for nothing', async () => {
  expect(await collect(gatherPieces(split(Buffer.alloc(0), 1), 10))).toEqual([]);
});
