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

describe('what is put right', () => {
  it.each([
    ['what is safe', wishes(), ['PoweredOff']],
    ['what was agreed to as well', wishes('CardMoved , Other'), ['PoweredOff', 'CardMoved']],
    ['nothing in maintenance', wishes(undefined, 'true'), []],
    ['what was agreed to in maintenance', wishes('CardMoved', 'true'), ['CardMoved']],
    ['never what cannot be', wishes('DiskGone,Renamed'), ['PoweredOff']],
    ['not yet what was in vain a moment ago', wishes('DiskSmaller'), ['PoweredOff']],
    ['what is safe, whatever else stands in the annotation', wishes(' ,', 'false'), ['PoweredOff']],
  ])('is %s', (_, said, due) => {
    expect(reasonsToRepair([off, moved, refused, gone, renamed, off], said)).toEqual(due);
  });
});

it('what people agreed to is brought to its end in maintenance, and told as that', () => {
  const begun: Drift = { ...off, mend: { ...off.mend!, begun: true } };
  expect(reasonsToRepair([begun], wishes(undefined, 'true'))).toEqual(['PoweredOff']);
  const told = withRepairMessages([begun], wishes(undefined, 'true')).map(({ message }) => message);
  expect(told).toContain('It is off. As agreed, it is started again.');
});

describe('what is told', () => {
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
  ])('of %j, %j', (said, drift, words) => {
    expect(withRepairMessages(drift, said).map(({ message }) => message)).toEqual(words);
  });

  it('keeps nobody from being ready in maintenance by what is only to be known', () => {
    expect(withRepairMessages([renamed], wishes(undefined, 'true')).every(({ minor }) => minor)).toBe(true);
    expect(withRepairMessages([renamed, gone], wishes(undefined, 'true'))[0]?.minor).toBeUndefined();
  });
});

describe('the status of a machine that is being put right', () => {
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

  it('says what is amiss and how far it is with that', () => {
    expect(of(waiting, [off])).toMatchObject({
      phase: 'Degraded',
      healthy: { status: 'False', reason: 'PoweredOff', message: 'It is off. running-again: It starts.' },
    });
  });

  it.each<[string, AdvanceResult]>([
    ['MemoryShort', { ...waiting, reason: 'MemoryShort' }],
    ['Overdue', { ...waiting, overdue: true }],
    ['BootOrder', { kind: 'failed', progress, seconds: 600, reason: 'BootOrder', message: 'Look.' }],
  ])('and what stands against that, if anything: %s', (reason, verdict) => {
    expect(of(verdict, [off])).toMatchObject({ phase: 'Degraded', healthy: { reason } });
  });
});
