import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { AdvanceResult } from '../../../engine/advance.ts';
import type { Drift } from '../../../engine/observation.ts';
import { describeMachineStatus } from '../describe.ts';
import { approvalsOf, reasonsToRepair, withRepairMessages } from './approvals.ts';

const off: Drift = {
  ...{ reason: 'PoweredOff', message: 'It is off.' },
  repair: { mode: 'automatic', effect: 'it is started again' },
};
const moved: Drift = {
  ...{ reason: 'CardMoved', message: 'It moved.' },
  repair: { mode: 'with-approval', effect: 'it is put back' },
};
const refused: Drift = {
  ...{ reason: 'DiskSmaller', message: 'It was refused.' },
  repair: { mode: 'automatic', effect: 'it is grown', isDeferred: true },
};
const gone: Drift = { reason: 'DiskGone', message: 'It is gone.' };
const renamed: Drift = { reason: 'Renamed', message: 'It was renamed.', isMinor: true };

const machine = (notes: Record<string, string> = {}): Machine =>
  ({ metadata: { name: 'm', annotations: notes } }) as unknown as Machine;
const approvals = (repair?: string, maintenance?: string) =>
  approvalsOf(
    machine({
      ...(repair === undefined ? {} : { [annotations.approve]: repair }),
      ...(maintenance === undefined ? {} : { [annotations.maintenance]: maintenance }),
    }),
  );

describe('the drift to repair', () => {
  it.each([
    ['includes safe repairs', approvals(), ['PoweredOff']],
    ['includes approved repairs', approvals('CardMoved , Other'), ['PoweredOff', 'CardMoved']],
    ['is empty in maintenance', approvals(undefined, 'true'), []],
    ['includes approved repairs in maintenance', approvals('CardMoved', 'true'), ['CardMoved']],
    ['excludes drift without a repair', approvals('DiskGone,Renamed'), ['PoweredOff']],
    ['excludes a repair that has just failed', approvals('DiskSmaller'), ['PoweredOff']],
    ['includes safe repairs, whatever else the annotation contains', approvals(' ,', 'false'), ['PoweredOff']],
  ])('%s', (_, given, due) => {
    expect(reasonsToRepair([off, moved, refused, gone, renamed, off], given)).toEqual(due);
  });
});

it('an approved repair continues in maintenance, with a matching message', () => {
  const started: Drift = { ...off, repair: { ...off.repair!, isStarted: true } };
  expect(reasonsToRepair([started], approvals(undefined, 'true'))).toEqual(['PoweredOff']);
  const reported = withRepairMessages([started], approvals(undefined, 'true')).map(({ message }) => message);
  expect(reported).toContain('It is off. As approved, it is started again.');
});

describe('the messages of the drift', () => {
  it.each([
    [approvals(), [off], ['It is off. Automatically it is started again.']],
    [approvals(), [gone], ['It is gone.']],
    [approvals(), [refused], ['It was refused.']],
    [
      approvals(),
      [moved],
      [`It moved. With the annotation ${annotations.approve}: CardMoved on the Machine, it is put back.`],
    ],
    [approvals('CardMoved'), [moved], ['It moved. As approved, it is put back.']],
    [approvals(undefined, 'true'), [off], [expect.stringMatching(/^Not repaired/), 'It is off.']],
    [approvals(undefined, 'true'), [], []],
  ])('for %j, %j', (given, drift, text) => {
    expect(withRepairMessages(drift, given).map(({ message }) => message)).toEqual(text);
  });

  it('leave a machine in maintenance Ready with minor drift only', () => {
    expect(withRepairMessages([renamed], approvals(undefined, 'true')).every(({ isMinor }) => isMinor)).toBe(true);
    expect(withRepairMessages([renamed, gone], approvals(undefined, 'true'))[0]?.isMinor).toBeUndefined();
  });
});

describe('the status of a machine in repair', () => {
  const progress = {
    plan: 'repair',
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
    ['InsufficientMemory', { ...waiting, reason: 'InsufficientMemory' }],
    ['Overdue', { ...waiting, overdue: true }],
    ['BootOrder', { kind: 'failed', progress, seconds: 600, reason: 'BootOrder', message: 'Look.' }],
  ])('and the reason that blocks it, if any: %s', (reason, verdict) => {
    expect(of(verdict, [off])).toMatchObject({ phase: 'Degraded', healthy: { reason } });
  });
});
