import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { deadline, isDeadline } from './deadline.ts';

const ended = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

describe('a deadline', () => {
  it('ends with a TimeoutError, and the parent lets go of it, so that a long life leaks nothing', async () => {
    const parent = new AbortController();
    const signal = deadline(0.001, parent.signal);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
    expect(isDeadline(await ended(signal))).toBe(true);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });

  it('ends with the reason of its parent, before or after it was made', () => {
    const parent = new AbortController();
    const before = deadline(60, parent.signal);
    const reason = new Error('shutting down');
    parent.abort(reason);
    expect(before.reason).toBe(reason);
    expect(deadline(60, parent.signal).reason).toBe(reason);
    expect(isDeadline(before.reason)).toBe(false);
  });
});
