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
});
