import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { CircuitBreaker, type CircuitRules } from './circuit-breaker.ts';

function createFixture() {
  const clock = new ManualClock();
  const breaker = new CircuitBreaker<string>({ clock, pauseSeconds: (_, failures) => failures * 2 });
  let calls = 0;
  const rules: CircuitRules<string> = {
    assess: (error) => {
      const { message } = error as Error;
      if (message === 'refused') return 'responded';
      return message === 'aborted' ? 'unknown' : { failure: message };
    },
    openError: (failure, seconds) => new Error(`${failure}, ${seconds} s left`),
  };
  const run = (outcome: () => Promise<unknown>) =>
    breaker.run(async () => {
      calls += 1;
      return await outcome();
    }, rules);
  const fails = (message: string) => run(() => Promise.reject(new Error(message)));
  return { clock, breaker, run, fails, openError: rules.openError, calls: () => calls };
}

describe('a circuit breaker', () => {
  it('admits no call during the pause, which the number of failures in a row determines', async () => {
    const { clock, breaker, openError } = createFixture();
    expect([breaker.failure, breaker.secondsUntilTrial]).toEqual([undefined, 0]);
    expect(breaker.recordFailure('silent')).toBe(2);
    expect(breaker.recordFailure('still silent')).toBe(4);
    await clock.advance(1000);
    expect([breaker.failure, breaker.secondsUntilTrial, breaker.pauseSeconds]).toEqual(['still silent', 3, 4]);
    expect(() => breaker.throwIfOpen(openError)).toThrow('still silent, 3 s left');
    await clock.advance(3000);
    breaker.throwIfOpen(openError);
    breaker.recordResponse();
    expect(breaker.failure).toBeUndefined();
    expect(breaker.recordFailure('silent again')).toBe(2);
  });

  it('remembers a suspected failure without a pause, and does not count it', () => {
    const { breaker, openError } = createFixture();
    breaker.suspect('lost');
    breaker.throwIfOpen(openError);
    expect(breaker.failure).toBe('lost');
    expect(breaker.recordFailure('silent')).toBe(2);
  });

  it('makes one trial call at a time, and all calls after a response', async () => {
    const { clock, run, fails, calls } = createFixture();
    await expect(fails('silent')).rejects.toThrow('silent');
    await expect(fails('silent')).rejects.toThrow('silent, 2 s left');
    expect(calls()).toBe(1);
    await clock.advance(2000);
    let end = (_error: Error) => {};
    const trial = run(() => new Promise((_, reject) => (end = reject)));
    await expect(fails('silent')).rejects.toThrow('silent, 0 s left');
    end(new Error('silent'));
    await expect(trial).rejects.toThrow('silent');
    await expect(fails('silent')).rejects.toThrow('silent, 4 s left');
    expect(calls()).toBe(2);
    await clock.advance(4000);
    expect(await run(async () => 'back')).toBe('back');
    expect(await Promise.all([run(async () => 1), run(async () => 2)])).toEqual([1, 2]);
  });

  it('closes the circuit after an error response, and learns nothing from an unrelated error', async () => {
    const { clock, fails, breaker } = createFixture();
    await expect(fails('silent')).rejects.toThrow('silent');
    await clock.advance(2000);
    await expect(fails('aborted')).rejects.toThrow('aborted');
    expect(breaker.failure).toBe('silent');
    await expect(fails('refused')).rejects.toThrow('refused');
    expect(breaker.failure).toBeUndefined();
  });
});
