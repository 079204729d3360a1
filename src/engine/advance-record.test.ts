import { describe, expect, it } from 'vitest';
import type { Clock } from '../lib/clock.ts';
import { advance, type Progress } from './advance.ts';
import { done, type Facts, type Step, wait } from './step.ts';

const clock: Clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => {} };

describe('the record', () => {
  it('saves no record before steps that only read, unless one of them waits', async () => {
    let record: Progress | undefined;
    const saved: string[] = [];
    let isReady = true;
    const read = (name: string): Step<Facts> => ({
      ...{ name, readsOnly: () => true },
      run: async () => (isReady ? done({ [name]: true }) : wait(1, 'not yet')),
    });
    const act: Step<Facts> = { name: 'act', run: async () => done() };
    const walk = () =>
      advance<Facts>({
        plan: 'provision',
        steps: [read('look'), act, read('prove')],
        progress: record,
        context: (facts) => facts,
        save: async (progress) => {
          saved.push(progress.step);
          record = structuredClone(progress);
        },
        clock,
      });
    expect((await walk()).kind).toBe('finished');
    expect(saved).toEqual(['act', '']);
    expect(record?.facts).toMatchObject({ look: true, prove: true });
    record = undefined;
    saved.length = 0;
    isReady = false;
    expect((await walk()).kind).toBe('waiting');
    expect(saved).toEqual(['look']);
    isReady = true;
    expect((await walk()).kind).toBe('finished');
    expect(saved).toEqual(['look', 'act', '']);
  });

  it('takes times in the future for the present, and saves them: the clock was set back', async () => {
    const now = new Date('2026-11-26T12:00:00Z');
    const ahead = '2026-11-26T17:00:00.000Z';
    const past = '2026-11-26T11:59:00.000Z';
    const saved: Progress[] = [];
    const step: Step<Facts> = { name: 'act', deadlineMinutes: 10, run: async (facts) => wait(1, String(facts['at'])) };
    const walk = (progress: Progress, at = now) =>
      advance<Facts>({
        ...{
          plan: 'provision',
          steps: [step],
          progress,
          context: (facts) => facts,
          clock: { ...clock, now: () => at },
        },
        save: async (next) => void saved.push(next),
      });
    const facts = { at: ahead, earlier: past, paidUntil: '2027-01-01', name: 'n' };
    const progress: Progress = { plan: 'provision', step: 'act', since: ahead, failures: 0, facts };
    expect(await walk(progress)).toMatchObject({ kind: 'waiting', message: now.toISOString() });
    expect(saved).toEqual([{ ...progress, since: now.toISOString(), facts: { ...facts, at: now.toISOString() } }]);
    const [next = progress] = saved.splice(0);
    expect(await walk(next, new Date(now.getTime() + 660_000))).toMatchObject({ overdue: true });
    expect(saved).toEqual([]);
    expect(await walk({ ...progress, plan: 'repair' })).toMatchObject({ message: now.toISOString() });
  });
});
