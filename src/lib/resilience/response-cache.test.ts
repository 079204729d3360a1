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
  shared = new ResponseCache(clock, { seconds: 45, over: over.signal });
});
afterEach(() => over.abort());

/** Asks, and holds the answer no stronger than those it was asked of. */
async function ask(maxAgeSeconds: number): Promise<WeakRef<object>> {
  const call = async () => {
    calls += 1;
    return { call: calls };
  };
  return new WeakRef(await shared.get('all of them', { maxAgeSeconds }, call, over.signal));
}

describe('what many ask alike', () => {
  it('is asked once for those who come within the time, and anew after it', async () => {
    await Promise.all([ask(15), ask(15)]);
    await clock.advance(14_000);
    await ask(15);
    expect(calls).toBe(1);
    await clock.advance(2000);
    await ask(15);
    expect(calls).toBe(2);
  });

  it('is held until nobody would make do with it any more, and no longer', async () => {
    const answer = await ask(15);
    await clock.advance(44_000);
    expect(await isReclaimed(answer)).toBe(false);
    await clock.advance(2000);
    expect(await isReclaimed(answer)).toBe(true);
  });

  it('is let go of at once when a newer answer takes its place, or it is forgotten', async () => {
    const replaced = await ask(15);
    await clock.advance(20_000);
    const forgotten = await ask(15);
    expect(await isReclaimed(replaced)).toBe(true);
    expect(await isReclaimed(forgotten)).toBe(false);
    shared.forget();
    expect(await isReclaimed(forgotten)).toBe(true);
  });

  it('outlives the end of the time of what it replaced', async () => {
    await ask(15);
    await clock.advance(30_000);
    await ask(15);
    await clock.advance(20_000);
    await ask(45);
    expect(calls).toBe(2);
  });
});
