import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import { type AdvanceOptions, type AdvanceResult, advance, type Progress, type StepPlanName } from './advance.ts';
import { done, type Facts, fail, returnToStep, type Step, wait, waitWithReason } from './step.ts';

class Crash extends Error {}

/** A platform that counts each effect and can end the process at any moment. */
class Lab {
  saved: Progress | undefined;
  readonly made = new Map<string, number>();
  time = Date.parse('2026-11-21T09:00:00Z');
  crashAt = Number.POSITIVE_INFINITY;
  moments = 0;
  /** A process that has died writes nothing more, not even the count of a failed step. */
  dead = false;

  readonly clock: Clock = { now: () => new Date(this.time), monotonic: () => this.time, sleep: async () => {} };

  /** A point at which the process may die. */
  moment(): void {
    this.moments += 1;
    this.dead ||= this.moments === this.crashAt;
    if (this.dead) throw new Crash();
  }

  /** Checks before it creates; the process may die before and after the creation. */
  ensure(thing: string): void {
    this.moment();
    if (!this.made.has(thing)) this.made.set(thing, (this.made.get(thing) ?? 0) + 1);
    this.moment();
  }

  remove(thing: string): void {
    this.moment();
    this.made.delete(thing);
    this.moment();
  }

  walk(
    plan: StepPlanName,
    steps: readonly Step<Facts>[],
    more: Partial<AdvanceOptions<Facts>> = {},
  ): Promise<AdvanceResult> {
    this.dead = false;
    return advance({
      ...more,
      plan,
      steps,
      progress: this.saved,
      context: (facts) => facts,
      save: async (progress) => {
        this.moment();
        this.saved = structuredClone(progress);
        this.moment();
      },
      clock: this.clock,
      random: () => 1,
    });
  }

  /** Runs the steps like a process that restarts whenever it has died. */
  async untilFinished(plan: StepPlanName, steps: readonly Step<Facts>[], maxWait = 200): Promise<AdvanceResult> {
    for (let tries = 0; tries < maxWait; tries += 1) {
      try {
        const verdict = await this.walk(plan, steps);
        if (verdict.kind === 'finished') return verdict;
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
      }
    }
    throw new Error('never finished');
  }
}

const maker = (fixture: Lab, name: string, more: Partial<Step<Facts>> = {}): Step<Facts> => ({
  name,
  run: async () => {
    fixture.ensure(name);
    return done({ [name]: fixture.made.get(name) ?? 0 });
  },
  ...more,
});

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `step-${i}`);

describe('advance', () => {
  it('creates everything once and in order when nothing fails', async () => {
    const fixture = new Lab();
    const verdict = await fixture.walk(
      'provision',
      names(4).map((name) => maker(fixture, name)),
    );
    expect(verdict.kind).toBe('finished');
    expect([...fixture.made.keys()]).toEqual(names(4));
    expect(fixture.saved?.facts).toEqual({ 'step-0': 1, 'step-1': 1, 'step-2': 1, 'step-3': 1 });
  });

  it('passes over steps that are not needed, without a record of theirs', async () => {
    const fixture = new Lab();
    const saved: string[] = [];
    const steps = [
      maker(fixture, 'a'),
      maker(fixture, 'b', { isNeeded: (facts) => facts['a'] !== 1 }),
      maker(fixture, 'c', { isNeeded: (facts) => facts['a'] === 1 }),
      maker(fixture, 'd', { isNeeded: () => false }),
    ];
    await fixture.walk('provision', steps, { observer: (step) => saved.push(step) });
    expect(saved).toEqual(['a', 'c']);
    expect(fixture.saved).toMatchObject({ step: '', facts: { a: 1, c: 1 } });
  });

  it('does nothing for a finished record', async () => {
    const fixture = new Lab();
    await fixture.walk('provision', [maker(fixture, 'a')]);
    const before = fixture.moments;
    expect((await fixture.walk('provision', [maker(fixture, 'a'), maker(fixture, 'b')])).kind).toBe('finished');
    expect(fixture.moments).toBe(before);
  });

  it('passes over steps that the facts leave nothing to do, without a record of them', async () => {
    const fixture = new Lab();
    const isNeeded = (facts: Facts): boolean => facts['a'] !== 1;
    const steps = [maker(fixture, 'a'), maker(fixture, 'b', { isNeeded }), maker(fixture, 'c'), maker(fixture, 'd')];
    const last = { ...maker(fixture, 'e'), isNeeded };
    expect((await fixture.walk('provision', [...steps, last])).kind).toBe('finished');
    expect([...fixture.made.keys()]).toEqual(['a', 'c', 'd']);
    // Two moments for each step, and two for each record: of the first step, of the two after it, and of the end.
    expect(fixture.moments).toBe(3 * 2 + 4 * 2);
  });

  it('ends the same wherever the process dies, and creates nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 12 }),
        async (count, crashes) => {
          const fixture = new Lab();
          const steps = names(count).map((name) => maker(fixture, name));
          for (const crash of crashes) {
            fixture.crashAt = fixture.moments + crash;
            await fixture.walk('provision', steps).catch((error: unknown) => {
              if (!(error instanceof Crash)) throw error;
            });
          }
          fixture.crashAt = Number.POSITIVE_INFINITY;
          const verdict = await fixture.untilFinished('provision', steps);
          expect(verdict.progress.facts).toEqual(Object.fromEntries(names(count).map((name) => [name, 1])));
          expect([...fixture.made.values()].every((n) => n === 1)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('releases everything from any partial state', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        async (count, first, second) => {
          const fixture = new Lab();
          fixture.crashAt = first;
          const provision = names(count).map((name) => maker(fixture, name));
          await fixture.walk('provision', provision).catch(() => {});
          const release: Step<Facts>[] = names(count)
            .reverse()
            .map((name) => ({
              name: `no-${name}`,
              run: async () => {
                fixture.remove(name);
                return done();
              },
            }));
          fixture.crashAt = fixture.moments + second;
          await fixture.walk('release', release).catch(() => {});
          fixture.crashAt = Number.POSITIVE_INFINITY;
          await fixture.untilFinished('release', release);
          expect(fixture.made.size).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('keeps its position when a step was renamed and restarts at the first step when it was removed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 6 }), fc.nat(5), fc.boolean(), async (count, at, renamed) => {
        const fixture = new Lab();
        const stop = at % count;
        const before = names(count).map((name, i) =>
          i === stop ? { name, run: async () => wait(1, 'later') } : maker(fixture, name),
        );
        await fixture.walk('provision', before);
        expect(fixture.saved?.step).toBe(`step-${stop}`);
        const ran: string[] = [];
        const after = names(count)
          .filter((_, i) => renamed || i !== stop)
          .map((name, i) => {
            const step = maker(
              fixture,
              renamed && i === stop ? 'renamed' : name,
              renamed && i === stop ? { formerNames: [name] } : {},
            );
            return {
              ...step,
              run: async (facts: Facts) => {
                ran.push(step.name);
                return await step.run(facts);
              },
            };
          });
        await fixture.untilFinished('provision', after);
        const first = renamed ? 'renamed' : after[0]?.name;
        expect(ran[0]).toBe(first);
        expect([...fixture.made.values()].every((n) => n === 1)).toBe(true);
      }),
    );
  });

  it('P7: is not disturbed by repeated and late wake-ups or by a clock that jumps', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -86_400_000, max: 86_400_000 }), { minLength: 1, maxLength: 20 }),
        async (jumps) => {
          const fixture = new Lab();
          let visits = 0;
          const steps: Step<Facts>[] = [
            maker(fixture, 'one'),
            {
              name: 'patience',
              deadlineMinutes: 5,
              run: async () => (++visits < jumps.length ? wait(1, 'not yet') : done()),
            },
            maker(fixture, 'two'),
          ];
          for (const jump of jumps) {
            fixture.time += jump;
            await fixture.walk('provision', steps);
          }
          expect((await fixture.untilFinished('provision', steps)).kind).toBe('finished');
          expect([...fixture.made]).toEqual([
            ['one', 1],
            ['two', 1],
          ]);
        },
      ),
    );
  });

  it('never runs a step that erases once the machine has joined', async () => {
    const fixture = new Lab();
    fixture.saved = {
      plan: 'provision',
      step: 'gone',
      since: '2026-11-21T09:00:00Z',
      failures: 0,
      facts: { joined: true },
    };
    const verdict = await fixture.walk('provision', [maker(fixture, 'wipe', { erases: true })]);
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'EraseRejected' });
    expect(fixture.made.size).toBe(0);
  });

  it('G15: counts errors in the record, so that a restart does not reset the backoff', async () => {
    const fixture = new Lab();
    const steps: Step<Facts>[] = [{ name: 'a', run: async () => Promise.reject(new ProviderError('UNREACHABLE')) }];
    const seconds: number[] = [];
    for (let i = 0; i < 12; i += 1) {
      const verdict = await fixture.walk('provision', steps);
      if (verdict.kind === 'error') seconds.push(verdict.seconds);
    }
    expect(fixture.saved?.failures).toBe(12);
    expect(seconds.slice(0, 4)).toEqual([2, 4, 8, 16]);
    expect(Math.max(...seconds)).toBe(300);
  });

  it('throws errors of the record itself and does not count them', async () => {
    const fixture = new Lab();
    const away = new Error('the API server is away');
    const step = { name: 'one', run: async () => Promise.reject(away) };
    const walk = (concernsRecord: (error: unknown) => boolean) => fixture.walk('provision', [step], { concernsRecord });
    await expect(walk((error) => error === away)).rejects.toBe(away);
    expect(fixture.saved).toMatchObject({ step: 'one', failures: 0 });
    expect(await walk(() => false)).toMatchObject({ kind: 'error', error: away });
    expect(fixture.saved).toMatchObject({ step: 'one', failures: 1 });
  });

  it('honours the wait that the remote side requests', async () => {
    const fixture = new Lab();
    const slow = new ProviderError('UNREACHABLE', '', { retryAfterSeconds: 900 });
    const verdict = await fixture.walk('provision', [{ name: 'a', run: async () => Promise.reject(slow) }]);
    expect(verdict).toMatchObject({ kind: 'error', seconds: 900 });
  });

  it('stops on a permanent failure, returned or thrown, without counting it', async () => {
    const fixture = new Lab();
    expect(
      await fixture.walk('provision', [{ name: 'a', run: async () => fail('PoolFull', 'Free some space.') }]),
    ).toMatchObject({
      kind: 'failed',
      reason: 'PoolFull',
    });
    const refused = new ProviderError('CREDENTIALS_REFUSED');
    expect(await fixture.walk('provision', [{ name: 'a', run: async () => Promise.reject(refused) }])).toMatchObject({
      kind: 'failed',
      reason: 'CREDENTIALS_REFUSED',
    });
    expect(fixture.saved?.failures).toBe(0);
  });

  it('S13: reports when a step is overdue and keeps retrying', async () => {
    const fixture = new Lab();
    const steps: Step<Facts>[] = [{ name: 'a', deadlineMinutes: 10, run: async () => wait(5, 'booting') }];
    expect(await fixture.walk('provision', steps)).toMatchObject({ kind: 'waiting', overdue: false });
    fixture.time += 11 * 60_000;
    expect(await fixture.walk('provision', steps)).toMatchObject({ kind: 'waiting', overdue: true, seconds: 5 });
  });

  it('passes on the reason of a step that waits', async () => {
    const fixture = new Lab();
    const steps: Step<Facts>[] = [
      { name: 'a', run: async () => waitWithReason('InsufficientMemory', 30, 'Too little.') },
    ];
    expect(await fixture.walk('provision', steps)).toMatchObject({
      ...{ kind: 'waiting', reason: 'InsufficientMemory', seconds: 30, message: 'Too little.' },
    });
    expect(fixture.saved?.failures).toBe(0);
  });
});

describe('a step that finds the effect of an earlier one gone', () => {
  it('moves back to that step, which creates it again, wherever the process dies', async () => {
    for (let crashAt = 1; crashAt < 40; crashAt += 1) {
      const fixture = new Lab();
      fixture.crashAt = crashAt;
      let isGone = true;
      const uses: Step<Facts> = {
        name: 'uses',
        run: async () => {
          if (fixture.made.has('a') && isGone) {
            fixture.made.delete('a');
            isGone = false;
          }
          if (!fixture.made.has('a')) return returnToStep('a', 5, 'It is gone.', { returns: 1 });
          fixture.ensure('b');
          return done();
        },
      };
      const steps = [maker(fixture, 'a'), maker(fixture, 'between'), uses];
      const verdict = await fixture.untilFinished('provision', steps);
      expect(verdict.progress.facts).toMatchObject({ returns: 1 });
      expect([...fixture.made.keys()].sort()).toEqual(['a', 'b', 'between']);
    }
  });

  it('is reported as a wait at the step that runs next, and resets the failures of the other', async () => {
    const fixture = new Lab();
    const steps = [maker(fixture, 'a'), { name: 'b', run: async () => returnToStep('a', 7, 'It is gone.') }];
    expect(await fixture.walk('provision', steps)).toMatchObject({
      ...{ kind: 'waiting', seconds: 7, message: 'It is gone.' },
      progress: { step: 'a', failures: 0 },
    });
    expect(fixture.saved?.step).toBe('a');
  });

  it('cannot move forward, nor to an unknown step', async () => {
    const fixture = new Lab();
    const to = (name: string) => [{ name: 'a', run: async () => returnToStep(name, 1, 'Odd.') }, maker(fixture, 'b')];
    await expect(fixture.walk('provision', to('b'))).rejects.toThrow(RangeError);
    await expect(fixture.walk('provision', to('none'))).rejects.toThrow(RangeError);
  });
});
