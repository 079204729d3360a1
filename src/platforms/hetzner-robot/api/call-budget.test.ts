import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { openRobotHarness, outcomeCode, type RobotHarness } from '../../../../test/support/harness/robot-harness.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { type BudgetTicket, CallBudget, CallBudgets, formatDuration, isBudgetRejection } from './call-budget.ts';
import { hourlyLimits } from './routes.ts';

const budgetOf = (clock: ManualClock, limit: number, reserve = 0) =>
  new CallBudget({ clock, name: 'POST /reset', limit, reserve });
const take = (budget: CallBudget, key: string): BudgetTicket => {
  const answer = budget.take(key);
  if (isBudgetRejection(answer)) throw new Error(answer.message);
  return answer;
};
const wordsFor = (budget: CallBudget, key: string): string => {
  const answer = budget.take(key);
  if (!isBudgetRejection(answer)) throw new Error('there was one');
  return answer.message;
};

describe('a budget', () => {
  it('counts a call until an hour after its end, and does not count one that was given back', async () => {
    const clock = new ManualClock();
    const budget = budgetOf(clock, 2);
    const slow = take(budget, 'a');
    take(budget, 'b').refund();
    expect(budget.remaining).toBe(1);
    await clock.advance(100_000);
    slow.end();
    slow.end();
    await clock.advance(3_604_000);
    expect(budget.remaining).toBe(1);
    await clock.advance(1_000);
    expect(budget.remaining).toBe(2);
  });

  it('leaves its reserve to other clients, and always has at least one call', () => {
    const clock = new ManualClock();
    expect(budgetOf(clock, 50, 5).remaining).toBe(45);
    expect(budgetOf(clock, 1, 1).remaining).toBe(1);
    const budgets = new CallBudgets(clock);
    const kept = Object.entries(hourlyLimits).map(([name, limit]) => [
      name,
      limit - budgets.of(name as 'GET /ip').remaining,
    ]);
    const tenths = Object.entries(hourlyLimits).map(([name, limit]) => [name, Math.floor(limit / 10)]);
    // Resets in the web panel do not use the budget.
    expect(kept).toEqual(tenths.map(([name, tenth]) => [name, name === 'POST /reset' ? 0 : tenth]));
  });

  it('adopts a lower limit that Robot names, and never a higher one', async () => {
    const clock = new ManualClock();
    const budget = budgetOf(clock, 10);
    budget.pause(60, 4);
    expect([budget.remaining, wordsFor(budget, 'a')]).toEqual([0, 'position 1 of 1, in about a minute']);
    await clock.advance(60_000);
    expect(budget.remaining).toBe(4);
    budget.pause(0, 20);
    expect(budget.remaining).toBe(4);
  });
});

describe('the queue', () => {
  it('keeps the place of a caller that retries, and reports its position', async () => {
    const clock = new ManualClock();
    const budget = budgetOf(clock, 2);
    take(budget, 'x').end();
    await clock.advance(600_000);
    take(budget, 'y').end();
    expect(wordsFor(budget, 'a')).toBe('position 1 of 1, in about 51 minutes');
    expect(wordsFor(budget, 'b')).toBe('position 2 of 2, in about 61 minutes');
    expect(wordsFor(budget, 'c')).toBe('position 3 of 3, in about 111 minutes');
    expect(wordsFor(budget, 'd')).toBe('position 4 of 4, in about 2 hours');
    expect(wordsFor(budget, 'a')).toBe('position 1 of 4, in about 51 minutes');
  });

  it('lets no caller pass an earlier one that will retry, and skips one that is overdue', async () => {
    const clock = new ManualClock();
    const budget = budgetOf(clock, 1);
    take(budget, 'x').end();
    await clock.advance(3_500_000);
    expect(wordsFor(budget, 'gone')).toBe('position 1 of 1, in about 2 minutes');
    expect(wordsFor(budget, 'late')).toContain('position 2 of 2');
    await clock.advance(110_000);
    expect(wordsFor(budget, 'late')).toContain('position 2 of 2');
    expect(wordsFor(budget, 'new')).toContain('position 3 of 3');
    await clock.advance(60_000);
    take(budget, 'late').end();
    // It was only skipped: its place is the same.
    expect(wordsFor(budget, 'gone')).toContain('position 1 of 2');
    expect(wordsFor(budget, 'new')).toContain('position 2 of 2');
  });

  test('callers that retry on time are served in order of arrival, no later than first announced', () => {
    const gapsInSeconds = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), gapsInSeconds, (limit, gaps) => {
        const clock = new ManualClock();
        const budget = budgetOf(clock, limit);
        let arrival = 0;
        const coming = gaps.map((gap, at) => {
          arrival += gap * 1000;
          return { name: `m${at}`, due: arrival, promised: Number.POSITIVE_INFINITY };
        });
        const served: string[] = [];
        while (coming.length > 0) {
          const next = coming.reduce((one, other) => (other.due < one.due ? other : one));
          clock.standStill(next.due - clock.monotonic());
          const answer = budget.take(next.name);
          if (isBudgetRejection(answer)) {
            next.due = clock.monotonic() + answer.seconds * 1000;
            const minutes = Number(/about (\d+) minutes/.exec(answer.message)?.[1] ?? Number.NaN);
            // Times of one minute, or given in hours, are too coarse to compare.
            const promise = clock.monotonic() + minutes * 60_000;
            if (next.promised === Number.POSITIVE_INFINITY && minutes > 1) next.promised = promise;
          } else {
            answer.end();
            served.push(next.name);
            coming.splice(coming.indexOf(next), 1);
            expect(clock.monotonic()).toBeLessThanOrEqual(next.promised + 60_000);
          }
        }
        expect(served).toEqual(gaps.map((_, at) => `m${at}`));
      }),
    );
  });
});

describe('at the webservice', () => {
  test('no limit is ever exceeded, whatever is called and when', async () => {
    const servers = [1, 2, 3].map((number) => ({ number }));
    const limits = { 'POST /reset': hourlyLimits['POST /reset'], 'GET /failover': hourlyLimits['GET /failover'] };
    const burst = fc.record({
      name: fc.constantFrom('POST /reset' as const, 'GET /failover' as const),
      calls: fc.integer({ min: 1, max: 60 }),
      seconds: fc.constantFrom(0, 60, 1800, 3590, 3600, 3605),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(burst, { minLength: 4, maxLength: 9 }), async (bursts) => {
        const fixture = await openRobotHarness({
          servers,
          accounts: [{ failovers: [{ ip: '198.51.100.7', server: 1 }] }],
        });
        try {
          const robot = fixture.connect({ failovers: ['198.51.100.7'] });
          const at: Record<keyof typeof limits, number[]> = { 'POST /reset': [], 'GET /failover': [] };
          fixture.switchboard.onCall(({ name }) =>
            at[name.replace(/\/\{.*/, '') as keyof typeof limits].push(fixture.clock.now().getTime()),
          );
          for (const { name, calls, seconds } of bursts) {
            const ask = (index: number) =>
              name === 'POST /reset'
                ? robot.reset(1 + (index % 3), 'hw', fixture.options)
                : robot.getFailover('198.51.100.7', fixture.options);
            const ends = Array.from({ length: calls }, (_, index) => outcomeCode(ask(index)));
            expect(await soon(fixture, ends)).not.toContain('ROBOT_RATE_LIMITED');
            await fixture.clock.pass(seconds);
          }
          for (const [name, times] of Object.entries(at)) {
            const max = limits[name as keyof typeof limits] * (name === 'POST /reset' ? 1 : 0.9);
            for (const start of times) {
              const within = times.filter((time) => time >= start && time < start + 3_600_000);
              expect(within.length).toBeLessThanOrEqual(max);
            }
          }
        } finally {
          await fixture.close();
        }
      }),
      { numRuns: 5 },
    );
    // Each run makes some hundred HTTPS calls.
  }, 60_000);
});

/** Collects the results of the calls. The clock advances only when nothing else is running. */
async function soon<T>({ clock }: RobotHarness, calls: readonly Promise<T>[]): Promise<readonly T[]> {
  let [open, idle] = [calls.length, 0];
  const all = Promise.all(
    calls.map((call) =>
      call.finally(() => {
        open -= 1;
        idle = 0;
      }),
    ),
  );
  while (open > 0) {
    await turn();
    idle += 1;
    if (idle > 300) await clock.pass(4);
  }
  return await all;
}

test.each([
  [1, 'about a minute'],
  [61, 'about 2 minutes'],
  [540, 'about 9 minutes'],
  [7200, 'about 2 hours'],
])('%i seconds are %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});
