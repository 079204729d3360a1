import { describe, expect, it } from 'vitest';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import { describeMachineStatus } from '../machine/describe.ts';
import { approvalsOf, reasonsToRepair, withRepairMessages } from './approvals.ts';

const off: Drift = {
  ...{ reason: 'PoweredOff', message: 'It is off.' },
  mend: { when: 'by-itself', how: 'it is started again' },
};
const moved: Drift = {
  ...{ reason: 'CardMoved', message: 'It moved.' },
  mend: { when: 'when-agreed', how: 'it is put back' },
};
const refused: Drift = {
  ...{ reason: 'DiskSmaller', message: 'It was refused.' },
  mend: { when: 'by-itself', how: 'it is grown', later: true },
};
const gone: Drift = { reason: 'DiskGone', message: 'It is gone.' };
const renamed: Drift = { reason: 'Renamed', message: 'It was renamed.', minor: true };

const machine = (notes: Record<string, string> = {}): Machine =>
  ({ metadata: { name: 'm', annotations: notes } }) as unknown as Machine;
const wishes = (mend?: string, maintenance?: string) =>
  approvalsOf(
    machine({
      ...(mend === undefined ? {} : { [annotations.mend]: mend }),
      ...(maintenance === undefined ? {} : { [annotations.maintenance]: maintenance }),
    }),
  );

describe('the drift to repair', () => {
  it.each([
    ['includes safe repairs', wishes(), ['PoweredOff']],
    ['includes approved repairs', wishes('CardMoved , Other'), ['PoweredOff', 'CardMoved']],
    ['is empty in maintenance', wishes(undefined, 'true'), []],
    ['includes approved repairs in maintenance', wishes('CardMoved', 'true'), ['CardMoved']],
    ['excludes drift without a repair', wishes('DiskGone,Renamed'), ['PoweredOff']],
    ['excludes a repair that has just failed', wishes('DiskSmaller'), ['PoweredOff']],
    ['includes safe repairs, whatever else the annotation contains', wishes(' ,', 'false'), ['PoweredOff']],
  ])('%s', (_, said, due) => {
    expect(reasonsToRepair([off, moved, refused, gone, renamed, off], said)).toEqual(due);
  });
});

it('an approved repair continues in maintenance, with a matching message', () => {
  const begun: Drift = { ...off, mend: { ...off.mend!, begun: true } };
  expect(reasonsToRepair([begun], wishes(undefined, 'true'))).toEqual(['PoweredOff']);
  const told = withRepairMessages([begun], wishes(undefined, 'true')).map(({ message }) => message);
  expect(told).toContain('It is off. As agreed, it is started again.');
});

describe('the messages of the drift', () => {
  it.each([
    [wishes(), [off], ['It is off. By itself it is started again.']],
    [wishes(), [gone], ['It is gone.']],
    [wishes(), [refused], ['It was refused.']],
    [
      wishes(),
      [moved],
      [`It moved. With the annotation ${annotations.mend}: CardMoved on the Machine it is put back.`],
    ],
    [wishes('CardMoved'), [moved], ['It moved. As agreed, it is put back.']],
    [wishes(undefined, 'true'), [off], [expect.stringMatching(/^Nothing is put right by itself/), 'It is off.']],
    [wishes(undefined, 'true'), [], []],
  ])('for %j, %j', (said, drift, words) => {
    expect(withRepairMessages(drift, said).map(({ message }) => message)).toEqual(words);
  });

  it('leave a machine in maintenance Ready with minor drift only', () => {
    expect(withRepairMessages([renamed], wishes(undefined, 'true')).every(({ minor }) => minor)).toBe(true);
    expect(withRepairMessages([renamed, gone], wishes(undefined, 'true'))[0]?.minor).toBeUndefined();
  });
});

describe('the status of a machine in repair', () => {
  const progress = {
    plan: 'mend',
    step: 'running-again',
    since: '2026-11-21T00:00:00Z',
    failures: 0,
    facts: {},
  } as const;
  const of = (verdict: AdvanceResult, drift: readonly Drift[]) => {
    const observed = { drift, notJoined: 'The machine is powered off.' };
    const { phase, conditions, message } = describeMachineStatus(machine(), verdict, observed, new Date(0));
    return { phase, message, healthy: conditions.find(({ type }) => type === 'Healthy') };
  };
  const waiting = { kind: 'waiting', progress, seconds: 5, message: 'It starts.', overdue: false } as const;

  it('contains the drift and the progress of the repair', () => {
    expect(of(waiting, [off])).toMatchObject({
      phase: 'Degraded',
      healthy: { status: 'False', reason: 'PoweredOff', message: 'It is off. running-again: It starts.' },
    });
  });

  it.each<[string, AdvanceResult]>([
    ['MemoryShort', { ...waiting, reason: 'MemoryShort' }],
    ['Overdue', { ...waiting, overdue: true }],
    ['BootOrder', { kind: 'failed', progress, seconds: 600, reason: 'BootOrder', message: 'Look.' }],
  ])('and the reason that blocks it, if any: %s', (reason, verdict) => {
    expect(of(verdict, [off])).toMatchObject({ phase: 'Degraded', healthy: { reason } });
  });
});
