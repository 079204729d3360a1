import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import {
  addExpiryCheck,
  assertActive,
  createLinkedController,
  deadlineSignal,
  isDeadlineError,
  waitAtMost,
  waitOrAbort,
  whenAborted,
  withDeadline,
} from './deadline.ts';

const ended = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

describe('a deadline', () => {
  it('ends with a TimeoutError and is removed from its parent, so that a long-lived parent leaks nothing', async () => {
    const parent = new AbortController();
    const signal = deadlineSignal(0.001, parent.signal);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
    expect(isDeadlineError(await ended(signal))).toBe(true);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });

  it('ends with the reason of its parent, before or after its creation', () => {
    const parent = new AbortController();
    const before = deadlineSignal(60, parent.signal);
    const reason = new Error('shutting down');
    parent.abort(reason);
    expect(before.reason).toBe(reason);
    expect(deadlineSignal(60, parent.signal).reason).toBe(reason);
    expect(isDeadlineError(before.reason)).toBe(false);
  });
});

it('handles a rejection of the work after the signal has aborted', async () => {
  const reason = new Error('shutting down');
  // An unhandled rejection makes vitest fail the run.
  const work = Promise.reject(new Error('no credentials'));
  await expect(waitOrAbort(work, AbortSignal.abort(reason))).rejects.toBe(reason);
  await new Promise(setImmediate);
});

describe('work within a deadline', () => {
  it('leaves nothing behind when it ends, with any result', async () => {
    const parent = new AbortController();
    let seen: AbortSignal | undefined;
    const work = async (signal: AbortSignal): Promise<string> => {
      seen = signal;
      return 'done';
    };
    expect(await withDeadline(0.001, parent.signal, work)).toBe('done');
    await expect(withDeadline(60, parent.signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(seen?.aborted).toBe(false);
  });

  it('gets an aborted signal at the timeout', async () => {
    const tooLong = withDeadline(0.001, undefined, (signal) => ended(signal).then((reason) => Promise.reject(reason)));
    await expect(tooLong).rejects.toSatisfy(isDeadlineError);
  });
});

describe('a signal with an expiry check', () => {
  /** A signal that ends as soon as `isTime`, whether or not a timer has run. */
  function guarded() {
    const life = new AbortController();
    const state = { isTime: false };
    const over = new Error('the time is over');
    addExpiryCheck(life.signal, () => {
      if (state.isTime) life.abort(over);
    });
    return { signal: life.signal, state, over };
  }

  it('is checked before each start, also in derived deadlines, because timers fire late after a pause', () => {
    const { signal, state, over } = guarded();
    const call = deadlineSignal(60, deadlineSignal(60, createLinkedController(signal).signal));
    assertActive(call);
    state.isTime = true;
    expect(call.aborted).toBe(false);
    expect(() => assertActive(call)).toThrow(over);
    expect([call.reason, signal.reason]).toEqual([over, over]);
  });

  it('lets no new deadline start', () => {
    const { signal, state, over } = guarded();
    const parent = deadlineSignal(60, signal);
    state.isTime = true;
    expect(deadlineSignal(60, parent).reason).toBe(over);
    expect(createLinkedController(parent).signal.reason).toBe(over);
  });

  it('allows everything without a check', () => {
    assertActive(undefined);
    assertActive(new AbortController().signal);
    const ended = AbortSignal.abort(new Error('ended'));
    expect(() => assertActive(ended)).toThrow('ended');
  });
});

describe('work that is waited for', () => {
  it('has ended, is late, or is not waited for any more; no timer is left', async () => {
    const clock = new ManualClock();
    expect(await waitAtMost(5, Promise.resolve('x'), { clock })).toBe(true);
    const late = waitAtMost(5, new Promise(() => {}), { clock });
    await clock.advance(5000);
    expect(await late).toBe(false);
    const end = new AbortController();
    const given = waitAtMost(5, new Promise(() => {}), { clock, signal: end.signal });
    end.abort();
    expect(await given).toBe(false);
    await expect(waitAtMost(5, Promise.reject(new Error('broken')), { clock })).rejects.toThrow('broken');
    await clock.settle();
    expect(clock.sleeping).toBe(0);
  });

  it('may be the end of a signal', async () => {
    const end = new AbortController();
    const ended = whenAborted(end.signal);
    end.abort();
    await ended;
    await whenAborted(end.signal);
  });
});
