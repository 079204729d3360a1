import { expect, it } from 'vitest';
import { memoizeByObject } from './memoize-by-object.ts';

it('computes each object once, and again after an error', () => {
  const computed: string[] = [];
  const read = memoizeByObject(({ name }: { readonly name: string }) => {
    computed.push(name);
    if (name === 'bad') throw new Error('unreadable');
    return name.toUpperCase();
  });
  const [good, bad] = [{ name: 'good' }, { name: 'bad' }];
  expect([read(good), read(good), read({ name: 'good' })]).toEqual(['GOOD', 'GOOD', 'GOOD']);
  for (const _ of [1, 2]) expect(() => read(bad)).toThrow('unreadable');
  expect(computed).toEqual(['good', 'good', 'bad', 'bad']);
});
