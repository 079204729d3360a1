import { describe, expect, it } from 'vitest';
import { createConcurrencyLimit } from './concurrency-limit.ts';

const never = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a limit', () => {
  it('runs up to the limit at a time, in the order of arrival', async () => {
    const limit = createConcurrencyLimit(2);
    const started: number[] = [];
    const end: (() => void)[] = [];
    const all = [0, 1, 2, 3].map((n) =>
      limit(() => {
        started.push(n);
        return new Promise<void>((resolve) => {
          end[n] = resolve;
        });
      }, never),
    );
    await settle();
    expect(started).toEqual([0, 1]);
    end[1]!();
    await settle();
    expect(started).toEqual([0, 1, 2]);
    end[0]!();
    await settle();
    for (const one of end) one();
    await Promise.all(all);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('passes the slot on when work throws, and when a waiter aborts', async () => {
    const limit = createConcurrencyLimit(1);
    const stop = new AbortController();
    let release = () => {};
    const first = limit(
      () =>
        new Promise<void>((_, reject) => {
          release = () => reject(new Error('broke'));
        }),
      never,
    );
    const second = limit(async () => 'never', stop.signal);
    const third = limit(async () => 'third', never);
    stop.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    release();
    await expect(first).rejects.toThrow('broke');
    expect(await third).toBe('third');
    expect(await limit(async () => 'fourth', never)).toBe('fourth');
  });
});
