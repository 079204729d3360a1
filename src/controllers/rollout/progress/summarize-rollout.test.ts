import { describe, expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../../test/support/fixtures/builders.ts';
import type { Condition } from '../../../api/conditions.ts';
import type { Machine, MachineStatus } from '../../../api/machine.ts';
import { configOfRolloutChange } from './rollout-key-sources.ts';
import { summarizeRollout } from './summarize-rollout.ts';

const pending: MachineStatus['pending'] = { revision: 'new', class: 'live', fields: [] };
const outdated = (change: Partial<Condition> = {}): Condition => ({ ...aCondition('UpToDate', 'False'), ...change });
function machine(status: Partial<MachineStatus> = {}, revision?: string): Machine {
  const made = aMachine();
  const conditions = [aCondition('UpToDate')];
  return {
    ...made,
    spec: { ...made.spec, ...(revision && { revision }) },
    status: { observedGeneration: 1, phase: 'Ready', conditions, compared: 's', ...status },
  };
}
const summarize = (...machines: Machine[]) => summarizeRollout(machines, () => 's');

describe('the summary of a rollout', () => {
  it('counts Machines by what a rollout does with them', () => {
    const failed = [outdated({ reason: 'UpdateFailed', lastTransitionTime: '2026-11-25T10:00:00Z' })];
    const all = [
      machine(),
      machine({ compared: 'old' }),
      machine({ pending, conditions: [outdated({ lastTransitionTime: '2026-11-25T09:00:00Z' })] }),
      machine({ pending, conditions: [outdated({ lastTransitionTime: '2026-11-25T11:00:00Z' })] }, 'new'),
      machine({ pending, conditions: failed }, 'new'),
    ];
    const outdatedSince = new Date('2026-11-25T09:00:00Z');
    expect(summarize(...all)).toEqual({
      ...{ total: 5, updated: 1, updating: 1, failed: 1, isSettled: false, outdatedSince },
    });
  });

  it('leaves out Machines that do not run yet, or go', () => {
    const { compared: _, ...fresh } = machine().status!;
    const gone = machine();
    gone.metadata.deletionTimestamp = '2026-11-25T10:00:00Z';
    expect(summarize({ ...machine(), status: fresh }, gone)).toMatchObject({ total: 0, isSettled: true });
  });

  it('is settled with changes that cannot be made, and not before all were compared', () => {
    const refused = machine({ pending: { ...pending, class: 'refused' }, conditions: [outdated()] });
    expect(summarize(refused)).toMatchObject({ updated: 0, isSettled: true });
    expect(summarize(machine({ compared: 'old' }))).toMatchObject({ isSettled: false });
  });
});

it('only what a summary shows wakes the ProviderConfig', () => {
  const changed = (before: Machine, object: Machine) =>
    configOfRolloutChange({ kind: 'updated', before, object }).length;
  expect(changed(machine(), machine({ message: 'other' }))).toBe(0);
  expect(changed(machine(), machine({ pending, conditions: [outdated()] }))).toBe(1);
  expect(changed(machine(), machine({ compared: 'new' }))).toBe(1);
});
