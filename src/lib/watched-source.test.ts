import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { WatchedSource } from './watched-source.ts';

const problem = new Error('the object was changed');
let isClosed = false;

async function* source(fails: boolean) {
  isClosed = false;
  try {
    yield 'a';
    yield 'b';
    if (fails) throw problem;
  } finally {
    isClosed = true;
  }
}

it('passes on what the source yields', async () => {
  const found: string[] = [];
  for await (const one of new WatchedSource(source(false))) found.push(one);
  expect(found).toEqual(['a', 'b']);
});

it('knows the error of the source, whatever is made of it', async () => {
  const watched = new WatchedSource(source(true));
  const read = async () => {
    for await (const _ of watched);
  };
  await expect(read()).rejects.toThrow();
  expect(watched.errorOf(new Error('the call failed'))).toBe(problem);
});

it('an error of the consumer is not one of the source, which is closed', async () => {
  const watched = new WatchedSource(source(true));
  const full = new Error('the disk is full');
  const disk = new Writable({ write: (_, __, done) => done(full) });
  await expect(pipeline(Readable.from(watched), disk)).rejects.toBe(full);
  expect(watched.errorOf(full)).toBe(full);
  expect(isClosed).toBe(true);
});
