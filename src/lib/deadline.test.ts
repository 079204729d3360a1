import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { deadline, guard, isDeadline, linkedTo, throwIfOver, within } from './deadline.ts';

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

describe('work within a deadline', () => {
  it('leaves nothing behind when it is done, in whatever way', async () => {
    const parent = new AbortController();
    let seen: AbortSignal | undefined;
    const work = async (signal: AbortSignal): Promise<string> => {
      seen = signal;
      return 'done';
    };
    expect(await within(0.001, parent.signal, work)).toBe('done');
    await expect(within(60, parent.signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(seen?.aborted).toBe(false);
  });

  it('is told when the time is over', async () => {
    const tooLong = within(0.001, undefined, (signal) => ended(signal).then((reason) => Promise.reject(reason)));
    await expect(tooLong).rejects.toSatisfy(isDeadline);
  });
});

describe('a guarded signal', () => {
  /** Over as soon as `isTime`, whether or not a timer has run. */
  function guarded() {
    const life = new AbortController();
    const state = { isTime: false };
    const over = new Error('the time is over');
    guard(life.signal, () => {
      if (state.isTime) life.abort(over);
    });
    return { signal: life.signal, state, over };
  }

  it('is looked at before each beginning, also far down, because timers are late when a process stood still', () => {
    const { signal, state, over } = guarded();
    const call = deadline(60, deadline(60, linkedTo(signal).signal));
    throwIfOver(call);
    state.isTime = true;
    expect(call.aborted).toBe(false);
    expect(() => throwIfOver(call)).toThrow(over);
    expect([call.reason, signal.reason]).toEqual([over, over]);
  });

  it('lets no new deadline begin', () => {
    const { signal, state, over } = guarded();
    const parent = deadline(60, signal);
    state.isTime = true;
    expect(deadline(60, parent).reason).toBe(over);
    expect(linkedTo(parent).signal.reason).toBe(over);
  });

  it('is no hindrance where there is none', () => {
    throwIfOver(undefined);
    throwIfOver(new AbortController().signal);
    const ended = AbortSignal.abort(new Error('ended'));
    expect(() => throwIfOver(ended)).toThrow('ended');
  });
});
