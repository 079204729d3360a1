import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { RateLimit, ReadRateLimit } from './rate-limit.ts';

describe('a rate limit', () => {
  it('allows a burst and then the rate, and saves no more than a burst', async () => {
    const clock = new ManualClock();
    const limit = new RateLimit(clock, { burst: 3, perSecond: 2 });
    const takeAll = () => Array.from({ length: 5 }, () => limit.take()).filter(Boolean).length;
    expect(takeAll()).toBe(3);
    expect(limit.secondsUntilNext()).toBe(0.5);
    await clock.advance(500);
    expect(limit.secondsUntilNext()).toBe(0);
    expect(takeAll()).toBe(1);
    await clock.advance(3_600_000);
    expect(takeAll()).toBe(3);
  });

  it('returns the seconds until a debt is paid', async () => {
    const clock = new ManualClock();
    const limit = new RateLimit(clock, { burst: 10, perSecond: 5 });
    expect([limit.spend(10), limit.spend(15)]).toEqual([0, 3]);
    await clock.advance(1000);
    expect(limit.spend(0)).toBe(2);
    expect(limit.take()).toBe(false);
  });
});

describe('a limit of received data', () => {
  const rates = { bytes: { burst: 1000, perSecond: 100 }, messages: { burst: 10, perSecond: 1 } };
  const never = new AbortController().signal;

  it('pauses for bytes and for messages, whichever takes longer', () => {
    const limit = new ReadRateLimit(new ManualClock(), rates);
    expect(limit.spend(1000, 1)).toBe(0);
    expect(limit.spend(200, 1)).toBe(2);
    expect(limit.spend(0, 13)).toBe(5);
  });

  it('never pauses for more than a minute at once', () => {
    expect(new ReadRateLimit(new ManualClock(), rates).spend(1e9, 1)).toBe(60);
  });

  it('resolves when the pause or the signal ends', async () => {
    const clock = new ManualClock();
    const limit = new ReadRateLimit(clock, rates);
    expect(limit.rest(1000, 1, never)).toBeUndefined();
    const paused = limit.rest(200, 1, never);
    await clock.advance(2000);
    await paused;
    const over = new AbortController();
    const aborted = limit.rest(1000, 1, over.signal);
    over.abort();
    await aborted;
    expect(clock.sleeping).toBe(0);
  });
});
