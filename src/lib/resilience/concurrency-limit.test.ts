import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';

const never = new AbortController().signal;
const finish = () => new Promise((resolve) => setImmediate(resolve));

describe('a limit', () => {
  it('runs up to the limit at a time, in the order of arrival', async () => {
    const limit = new ConcurrencyLimit(2);
    const started: number[] = [];
    const end: (() => void)[] = [];
    const all = [0, 1, 2, 3].map((n) =>
      limit.run(() => {
        started.push(n);
        return new Promise<void>((resolve) => {
          end[n] = resolve;
        });
      }, never),
    );
    await finish();
    expect(started).toEqual([0, 1]);
    end[1]!();
    await finish();
    expect(started).toEqual([0, 1, 2]);
    end[0]!();
    await finish();
    for (const one of end) one();
    await Promise.all(all);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('passes the slot on when work throws, and when a waiter aborts', async () => {
    const limit = new ConcurrencyLimit(1);
    const stop = new AbortController();
    let release = () => {};
    const first = limit.run(
      () =>
        new Promise<void>((_, reject) => {
          release = () => reject(new Error('broke'));
        }),
      never,
    );
    const second = limit.run(async () => 'never', stop.signal);
    const third = limit.run(async () => 'third', never);
    stop.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    release();
    await expect(first).rejects.toThrow('broke');
    expect(await third).toBe('third');
    expect(await limit.run(async () => 'fourth', never)).toBe('fourth');
    expect(limit.running).toBe(0);
  });

  it('follows a limit that changes, and frees each slot once', async () => {
    let max = 1;
    const limit = new ConcurrencyLimit(() => max);
    const release = await limit.acquire(never);
    const waiting = [limit.acquire(never), limit.acquire(never)];
    await finish();
    expect(limit.running).toBe(1);
    max = 2;
    release();
    release();
    const [second] = await Promise.all(waiting);
    expect(limit.running).toBe(2);
    max = 1;
    second?.();
    const fourth = limit.acquire(never);
    await finish();
    expect(limit.running).toBe(1);
    max = 2;
    const fifth = limit.acquire(never);
    await finish();
    expect(limit.running, 'a later call does not pass an earlier one').toBe(1);
    (await waiting[1])?.();
    await Promise.all([fourth, fifth]);
    expect(limit.running).toBe(2);
  });

  it('refuses a call that gets no slot in time, with the error of that moment', async () => {
    const clock = new ManualClock();
    const limit = new ConcurrencyLimit(1);
    const release = await limit.acquire(never);
    let message = 'early';
    const toError = () => new Error(message);
    const late = limit.acquire(never, { clock, until: clock.monotonic() + 3000, toError });
    const refused = expect(late).rejects.toThrow('late');
    message = 'late';
    await clock.advance(3000);
    await refused;
    const inTime = limit.acquire(never, { clock, until: clock.monotonic() + 3000, toError });
    release();
    (await inTime)();
    expect([limit.running, clock.sleeping]).toEqual([0, 0]);
  });

  it('refuses a call whose signal has aborted', async () => {
    const limit = new ConcurrencyLimit(1);
    await expect(limit.run(async () => 'never', AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
    expect(limit.running).toBe(0);
  });
});
