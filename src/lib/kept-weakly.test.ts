import { expect, it } from 'vitest';
import { isCollected } from '../../test/support/collected.ts';
import { keptWeakly } from './kept-weakly.ts';

it('is the same for as long as somebody holds it', async () => {
  const get = keptWeakly(() => ({ name: 'large' }));
  const held = get();
  expect(await isCollected(new WeakRef(held))).toBe(false);
  expect(get()).toBe(held);
});

it('is made anew when nobody has held it for a while', async () => {
  let made = 0;
  const get = keptWeakly(() => {
    made += 1;
    return { made };
  });
  expect(await isCollected(new WeakRef(get()))).toBe(true);
  expect(get()).toEqual({ made: 2 });
});
