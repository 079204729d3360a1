import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readBatches } from './read-batches.ts';

async function collect(batches: AsyncIterable<Uint8Array>): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for await (const batch of batches) all.push(Buffer.from(batch));
  return all;
}

const content = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
const cut = (size: number) =>
  Array.from({ length: Math.ceil(content.length / size) }, (_, i) => content.subarray(i * size, (i + 1) * size));

it.each([
  [1, 100],
  [7, 100],
  [100, 100],
  [333, 100],
  [1000, 100],
  [7, 5000],
])('pieces of %i bytes are read in batches of at least %i bytes', async (size, wanted) => {
  const batches = await collect(readBatches(Readable.from(cut(size), { objectMode: false }), wanted));
  expect(Buffer.concat(batches).equals(content)).toBe(true);
  expect(batches.slice(0, -1).every(({ length }) => length >= wanted)).toBe(true);
});

it('nothing is read while a batch is worked on', async () => {
  const stream = new PassThrough({ highWaterMark: 16 });
  const batches = readBatches(stream, 10);
  const first = batches.next();
  stream.write(Buffer.alloc(10));
  expect((await first).value).toHaveLength(10);
  expect(stream.isPaused()).toBe(true);
  stream.end(Buffer.from('rest'));
  expect(Buffer.from((await batches.next()).value ?? []).toString()).toBe('rest');
  expect((await batches.next()).done).toBe(true);
});

it('the error of a stream reaches the reader, also after a batch', async () => {
  const problem = new Error('it broke');
  for (const bytes of [0, 5, 50]) {
    const stream = new PassThrough();
    stream.write(Buffer.alloc(bytes + 1));
    const batches = collect(readBatches(stream, 10));
    await new Promise((resolve) => setImmediate(resolve));
    stream.destroy(problem);
    await expect(batches).rejects.toBe(problem);
  }
});

it('the error of a stream that failed while a batch was worked on reaches the reader', async () => {
  const stream = new PassThrough();
  stream.write(Buffer.alloc(10));
  const batches = readBatches(stream, 10);
  expect((await batches.next()).value).toHaveLength(10);
  const problem = new Error('it broke');
  stream.destroy(problem);
  await new Promise((resolve) => setImmediate(resolve));
  await expect(batches.next()).rejects.toBe(problem);
});

it('a stream that is over has nothing', async () => {
  const stream = new PassThrough();
  stream.destroy();
  expect(await collect(readBatches(stream, 10))).toEqual([]);
});

it('a reader that stops early leaves no listener', async () => {
  const stream = new PassThrough();
  const before = stream.eventNames().length;
  stream.write(Buffer.alloc(10));
  for await (const _ of readBatches(stream, 10)) break;
  expect(stream.eventNames()).toHaveLength(before);
});
