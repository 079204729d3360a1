import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';
import { WorkQueue } from './work-queue.ts';

const setup = (concurrency = 2, patientConcurrency = concurrency) => {
  const clock = new ManualClock();
  const queue = new WorkQueue({ clock, concurrency, lowPriorityConcurrency: patientConcurrency, random: () => 1 });
  const end = new AbortController();
  return { clock, queue, end };
};

describe('backoff', () => {
  it('lies between half the base and the cap, with bounds that never shrink during an outage', () => {
    const options = { baseSeconds: 1, capSeconds: 300 };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (n, r) => {
        const seconds = backoffSeconds(n, { ...options, random: () => r });
        expect(seconds).toBeGreaterThanOrEqual(0.5);
        expect(seconds).toBeLessThanOrEqual(300);
        expect(backoffSeconds(n + 1, { ...options, random: () => 0 })).toBeGreaterThanOrEqual(
          backoffSeconds(n, { ...options, random: () => 0 }),
        );
      }),
    );
  });
});

describe('a work queue', () => {
  it('holds a key once, however often it is added, so that a burst of events is one reconcile', async () => {
    const { clock, queue, end } = setup();
    const served: string[] = [];
    for (let i = 0; i < 100; i += 1) queue.add('a');
    const running = queue.run(async (key) => void served.push(key), end.signal);
    await clock.settle();
    expect(served).toEqual(['a']);
    end.abort();
    await running;
  });

  it('returns a key again that was added while it was active, so that no event is lost', async () => {
    const { clock, queue, end } = setup();
    let runs = 0;
    const running = queue.run(async () => {
      runs += 1;
      if (runs === 1) {
        queue.add('a');
        queue.add('a');
        await clock.sleep(1000);
      }
    }, end.signal);
    queue.add('a');
    await clock.advance(999);
    expect(runs).toBe(1);
    await clock.advance(1);
    expect(runs).toBe(2);
    end.abort();
    await running;
  });

  it('keeps the earliest of several delays, and an immediate add overrides all of them', async () => {
    const { clock, queue, end } = setup();
    const at: number[] = [];
    const running = queue.run(async () => void at.push(clock.monotonic()), end.signal);
    queue.add('a', 30);
    queue.add('a', 10);
    queue.add('a', 20);
    await clock.advance(60_000);
    expect(at).toEqual([10_000]);
    queue.add('a', 5);
    queue.add('a');
    await clock.advance(60_000);
    expect(at).toEqual([10_000, 60_000]);
    end.abort();
    await running;
  });

  it('waits longer after each failure in a row, and resets the delay on success', async () => {
    const { clock, queue, end } = setup();
    const at: number[] = [];
    const running = queue.run(async (key) => {
      at.push(clock.monotonic() / 1000);
      if (at.length < 5) queue.retry(key);
      else queue.forget(key);
    }, end.signal);
    queue.add('a');
    await clock.advance(60_000);
    expect(at).toEqual([0, 1, 3, 7, 15]);
    expect(queue.failures('a')).toBe(0);
    expect(queue.size).toBe(0);
    end.abort();
    await running;
  });

  it('respects a longer delay that the server requests', async () => {
    const { clock, queue, end } = setup();
    const at: number[] = [];
    const running = queue.run(async (key) => {
      at.push(clock.monotonic() / 1000);
      if (at.length === 1) queue.retry(key, { minSeconds: 42 });
    }, end.signal);
    queue.add('a');
    await clock.advance(100_000);
    expect(at).toEqual([0, 42]);
    end.abort();
    await running;
  });

  it('supports delays of months although timers do not, and rejects a delay that is not a number', async () => {
    const { clock, queue, end } = setup();
    const at: number[] = [];
    const sleeps: number[] = [];
    const sleep = clock.sleep.bind(clock);
    clock.sleep = (ms, signal) => {
      sleeps.push(ms);
      return sleep(ms, signal);
    };
    const running = queue.run(async () => void at.push(clock.monotonic()), end.signal);
    const days = 86_400;
    queue.add('a', 60 * days);
    queue.add('never', Number.POSITIVE_INFINITY);
    expect(() => queue.add('b', Number.NaN)).toThrow(TypeError);
    await clock.advance(61 * days * 1000);
    expect(at).toEqual([60 * days * 1000]);
    expect(Math.max(...sleeps)).toBeLessThan(2 ** 31);
    end.abort();
    await running;
  });

  it('processes every key before any key a second time, so that a busy object starves no other', async () => {
    const { clock, queue, end } = setup(1);
    const served: string[] = [];
    const running = queue.run(async (key) => {
      served.push(key);
      if (served.length < 8) queue.add(key);
    }, end.signal);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.settle();
    expect(served.slice(0, 6)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
    end.abort();
    await running;
  });

  it('processes changed keys before keys that a timer enqueues, however many those are', async () => {
    const { clock, queue, end } = setup(1);
    const served: string[] = [];
    const running = queue.run(async (key) => void served.push(key), end.signal);
    for (let i = 0; i < 50; i += 1) queue.add(`due-${i}`, 10);
    await clock.advance(9_999);
    queue.add('asked', 0.001);
    queue.add('new');
    await clock.advance(1);
    expect(served[0]).toBe('new');
    queue.add('due-49', 5);
    await clock.settle();
    expect(served).toHaveLength(52);
    end.abort();
    await running;
  });

  it('keeps workers free for changed keys while a thousand low-priority keys are due', async () => {
    const { clock, queue, end } = setup(4, 1);
    const served: string[] = [];
    const running = queue.run(async (key) => {
      served.push(key);
      await clock.sleep(1000);
    }, end.signal);
    for (let i = 0; i < 1000; i += 1) queue.add(`due-${i}`, 10);
    await clock.advance(10_000);
    expect(served).toEqual(['due-0']);
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await clock.settle();
    expect(served).toEqual(['due-0', 'a', 'b', 'c']);
    await clock.advance(1000);
    // Low-priority keys yield to it, but not for long.
    expect(served.slice(4)).toEqual(['d']);
    await clock.advance(1000);
    expect(served.slice(5)).toEqual(['due-1']);
    end.abort();
    await clock.advance(1000);
    await running;
  });

  it('continues with low-priority keys while a high-priority key hangs', async () => {
    const { clock, queue, end } = setup(4, 1);
    const served: string[] = [];
    const running = queue.run(async (key) => {
      served.push(key);
      await clock.sleep(key === 'hangs' ? 60_000 : 100);
    }, end.signal);
    for (let i = 0; i < 5; i += 1) queue.add(`due-${i}`, 10);
    queue.add('hangs', 10, 'high');
    await clock.advance(10_999);
    expect(served).toEqual(['hangs']);
    await clock.advance(1000);
    expect(served).toHaveLength(6);
    end.abort();
    await clock.advance(60_000);
    await running;
  });

  it('ends on abort: takes no new key and waits for active work, but not forever', async () => {
    const { clock, queue, end } = setup(2);
    const served: string[] = [];
    const running = queue.run(
      async (key) => {
        served.push(key);
        await clock.sleep(key === 'quick' ? 3000 : 1e9);
      },
      end.signal,
      10,
    );
    for (const key of ['quick', 'stuck', 'late']) queue.add(key);
    await clock.settle();
    end.abort();
    let left: readonly string[] | undefined;
    void running.then((keys) => {
      left = keys;
    });
    await clock.advance(9_999);
    expect(left).toBeUndefined();
    await clock.advance(1);
    expect(left).toEqual(['stuck']);
    expect(served).toEqual(['quick', 'stuck']);
    expect(queue.size).toBe(1);
  });

  it('leaves no timer behind, so that the process can exit', async () => {
    const { clock, queue, end } = setup();
    const running = queue.run(async () => {}, end.signal);
    queue.add('a', 1000);
    await clock.settle();
    end.abort();
    expect(await running).toEqual([]);
    await clock.settle();
    expect(clock.sleeping).toBe(0);
  });

  it('keeps its guarantees under any order of additions, delays, failures and slow work', async () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      afterSeconds: fc.constantFrom(0, 0, 1, 7),
      lane: fc.constantFrom('high' as const, 'low' as const),
      thenMs: fc.constantFrom(0, 0, 400, 5000),
    });
    const work = fc.record({ ms: fc.constantFrom(0, 300, 2500), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.array(work, { maxLength: 15 }), async (steps, works) => {
        const { clock, queue, end } = setup(2);
        const busy = new Set<string>();
        const lastStart = new Map<string, number>();
        const lastAsk = new Map<string, number>();
        let max = 0;
        let turn = 0;
        const running = queue.run(async (key) => {
          expect(busy.has(key)).toBe(false);
          busy.add(key);
          max = Math.max(max, busy.size);
          turn += 1;
          lastStart.set(key, turn);
          const task = works.shift() ?? { ms: 0, fails: false };
          await clock.sleep(task.ms);
          busy.delete(key);
          if (task.fails) queue.retry(key);
          else queue.forget(key);
        }, end.signal);
        for (const { key, afterSeconds, lane: priority, thenMs } of steps) {
          turn += 1;
          lastAsk.set(key, turn);
          queue.add(key, afterSeconds, priority);
          await clock.advance(thenMs);
        }
        await clock.advance(3_600_000);
        expect(max).toBeLessThanOrEqual(2);
        expect(queue.size).toBe(0);
        expect(queue.working).toBe(0);
        for (const [key, asked] of lastAsk) expect(lastStart.get(key)).toBeGreaterThan(asked);
        end.abort();
        await running;
      }),
      { numRuns: 60 },
    );
  });
});

describe('the workers of a queue', () => {
  const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);

  /**
   * Works on all keys, each for the time that its group takes. Returns the duration of each ordinary key in
   * milliseconds.
   */
  async function timesOf(malicious: number, groups: boolean, everyMs = 0): Promise<number[]> {
    const clock = new ManualClock();
    const queue = new WorkQueue({
      clock,
      concurrency: 16,
      random: () => 1,
      ...(groups ? { groups: { groupOf: (key: string) => key.split('/')[0] ?? '', limitsSlowGroups: true } } : {}),
    });
    const end = new AbortController();
    const asked = new Map<string, number>();
    const times: number[] = [];
    const running = queue.run(async (key) => {
      await clock.sleep(key.startsWith('silent/') ? 15_000 : 100);
      if (key.startsWith('silent/')) queue.add(key);
      else times.push(clock.monotonic() - (asked.get(key) ?? 0));
    }, end.signal);
    for (let i = 0; i < malicious; i += 1) queue.add(`silent/${i}`);
    // The durations of the earlier keys are known by then.
    await clock.advance(60_000);
    for (let i = 0; i < 20; i += 1) {
      asked.set(`team-${i}/a`, clock.monotonic());
      queue.add(`team-${i}/a`);
      await clock.advance(everyMs);
    }
    await clock.advance(200_000);
    end.abort();
    await clock.advance(20_000);
    await running;
    expect(times).toHaveLength(20);
    return times;
  }

  it('remain available beside a slow group: twenty other keys take at most half as long again', async () => {
    for (const malicious of [1, 100]) {
      const [together, alone] = [await timesOf(malicious, true), await timesOf(0, true)];
      expect(sum(together) / sum(alone)).toBeLessThanOrEqual(1.5);
      expect(Math.max(...together) / Math.max(...alone)).toBeLessThanOrEqual(1.5);
      // Each key is compared with itself, one after the other: twenty at once are more than there are workers.
      const [spread, before] = [await timesOf(malicious, true, 20), await timesOf(0, true, 20)];
      for (const [i, ms] of spread.entries()) expect(ms / (before[i] ?? 0)).toBeLessThanOrEqual(1.5);
    }
  });

  it('were all occupied by such a group without the limit', async () => {
    const [alone, beside] = [await timesOf(0, false), await timesOf(100, false)];
    expect(sum(beside) / sum(alone)).toBeGreaterThan(10);
  });

  it('take up held keys in order, once, and with the priority of the last addition', async () => {
    const clock = new ManualClock();
    const queue = new WorkQueue({ clock, concurrency: 4, groups: { groupOf: () => 'one' } });
    const end = new AbortController();
    const served: string[] = [];
    const running = queue.run(async (key) => {
      served.push(key);
      await clock.sleep(100);
    }, end.signal);
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) queue.add(key);
    await clock.settle();
    expect([served, queue.working, queue.size]).toEqual([['a', 'b', 'c'], 3, 3]);
    queue.add('d');
    queue.add('e', 3600);
    expect(queue.size).toBe(3);
    await clock.advance(1000);
    expect([served, queue.size]).toEqual([['a', 'b', 'c', 'd', 'e', 'f'], 0]);
    end.abort();
    await running;
  });
});
