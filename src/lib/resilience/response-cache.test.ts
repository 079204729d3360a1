import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isReclaimed } from '../../../test/support/is-reclaimed.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ResponseCache } from './response-cache.ts';

let clock: ManualClock;
let over: AbortController;
let shared: ResponseCache;
let calls: number;

beforeEach(() => {
  [clock, over, calls] = [new ManualClock(), new AbortController(), 0];
  shared = new ResponseCache(clock);
});
afterEach(() => over.abort());

/** Asks, and keeps only a weak reference to the answer. */
async function ask(maxAgeSeconds: number): Promise<WeakRef<object>> {
  const call = async () => {
    calls += 1;
    return { call: calls };
  };
  return new WeakRef(await shared.get('all of them', { maxAgeSeconds }, call, over.signal));
}

describe('a response cache', () => {
  it('asks once for all callers within the maximum age, and again after it', async () => {
    await Promise.all([ask(15), ask(15)]);
    await clock.advance(14_000);
    await ask(15);
    expect(calls).toBe(1);
    await clock.advance(2000);
    await ask(15);
    expect(calls).toBe(2);
  });

  it('releases an answer at once when a newer one replaces it, or when it is forgotten', async () => {
    const replaced = await ask(15);
    await clock.advance(20_000);
    const forgotten = await ask(15);
    expect(await isReclaimed(replaced)).toBe(true);
    expect(await isReclaimed(forgotten)).toBe(false);
    shared.forget();
    expect(await isReclaimed(forgotten)).toBe(true);
  });
});
