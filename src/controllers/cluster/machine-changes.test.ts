import { expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import { machineName } from '../../api/names.ts';
import { concernsCluster, isStepOfUpdate } from './machine-changes.ts';

const progress = (step: string, plan: 'update' | 'provision' = 'update'): MachineStatus['progress'] => ({
  ...{ plan, step, since: '2026-11-25T10:00:00Z', failures: 0, facts: {} },
});
function machine(resourceVersion: string, status: Partial<MachineStatus>): Machine {
  const made = aMachine();
  const conditions = [aCondition('Ready')];
  return {
    ...made,
    metadata: { ...made.metadata, resourceVersion },
    status: { observedGeneration: 1, phase: 'Updating', conditions, ...status },
  };
}
const before = machine('1', { progress: progress('images-pulled') });
const isStep = (object: Machine, from = before) => isStepOfUpdate({ kind: 'updated', before: from, object });

it('a Cluster does not care which step of an update its Machine is in', () => {
  expect(isStep(machine('2', { progress: progress('node-drained'), message: 'step 3 of 12.' }))).toBe(true);
});

it('but whether it begins or ends, and what its conditions are', () => {
  const finished = { ...progress('', 'provision')!, finishedAt: '2026-11-25T10:05:00Z' };
  expect(isStep(machine('2', { progress: finished }))).toBe(false);
  expect(isStep(before, machine('0', { progress: finished }))).toBe(false);
  const conditions = [aCondition('Ready', 'False')];
  expect(isStep(machine('2', { progress: progress('node-drained'), conditions }))).toBe(false);
  expect(isStep(machine('2', { progress: progress('node-drained'), phase: 'Ready' }))).toBe(false);
  expect(isStepOfUpdate({ kind: 'deleted', object: before })).toBe(false);
});

it('D37: a Cluster looks at changed Nodes of its names that have no Machine, and at the loss of its API server', () => {
  const cluster = { namespace: 'team', name: 'prod', uid: 'cluster-uid' };
  const known = machineName(cluster, 'work', 0);
  const stores = { machines: { get: ({ name }: { name: string }) => (name === known ? before : undefined) } };
  const concerns = (node?: string) => concernsCluster(stores, { cluster, ...(node !== undefined && { node }) });
  expect([undefined, machineName(cluster, 'work', 1), known, 'other'].map(concerns)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
