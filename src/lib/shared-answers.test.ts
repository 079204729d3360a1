import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isCollected } from '../../test/support/collected.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { SharedAnswers } from './shared-answers.ts';

let clock: ManualClock;
let over: AbortController;
let shared: SharedAnswers;
let calls: number;

beforeEach(() => {
  [clock, over, calls] = [new ManualClock(), new AbortController(), 0];
  shared = new SharedAnswers(clock, { seconds: 45, over: over.signal });
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
    expect(await isCollected(answer)).toBe(false);
    await clock.advance(2000);
    expect(await isCollected(answer)).toBe(true);
  });

  it('is let go of at once when a newer answer takes its place, or it is forgotten', async () => {
    const replaced = await ask(15);
    await clock.advance(20_000);
    const forgotten = await ask(15);
    expect(await isCollected(replaced)).toBe(true);
    expect(await isCollected(forgotten)).toBe(false);
    shared.forget();
    expect(await isCollected(forgotten)).toBe(true);
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
