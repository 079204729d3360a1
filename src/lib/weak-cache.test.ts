import { expect, it } from 'vitest';
import { isReclaimed } from '../../test/support/is-reclaimed.ts';
import { createWeakCache } from './weak-cache.ts';

it('a cached value is the same as long as a caller holds it', async () => {
  const get = createWeakCache(() => ({ name: 'large' }));
  const held = get();
  expect(await isReclaimed(new WeakRef(held))).toBe(false);
  expect(get()).toBe(held);
});

it('a cached value is created again when no caller has held it for a while', async () => {
  let made = 0;
  const get = createWeakCache(() => {
    made += 1;
    return { made };
  });
  expect(await isReclaimed(new WeakRef(get()))).toBe(true);
  expect(get()).toEqual({ made: 2 });
});
