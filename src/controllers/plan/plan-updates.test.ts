import { expect, it } from 'vitest';
import { aCluster, aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import { clusterIdentityOf } from '../cluster/identity.ts';
import { planUpdates } from './plan-updates.ts';

const cluster = aCluster();
const machine = (pool: string, slot: number, pending?: MachineStatus['pending']): Machine => {
  const made = aMachine(slot, [aCondition('Ready')], pool);
  const status = { observedGeneration: 1, phase: 'Ready', conditions: made.status?.conditions ?? [], compared: 's' };
  const spec = { ...made.spec, clusterRef: clusterIdentityOf(cluster) };
  return { ...made, spec, status: { ...status, ...(pending && { pending }) } };
};
const plan = (...machines: Machine[]) =>
  planUpdates([cluster], machines, { workerPools: [] }).map(({ effect, machine, fields, note }) =>
    [effect, machine.replace(/^prod-[^-]*-/, ''), fields.join(', '), note].join(' | '),
  );

it('lists the changes of running machines in the order of a rollout, with what they interrupt', () => {
  const pending = (name: NonNullable<MachineStatus['pending']>['class'], ...fields: string[]) => ({
    ...{ revision: 'r', class: name, fields },
  });
  expect(
    plan(
      machine('work', 1, pending('live', 'machine.nodeLabels')),
      machine('work', 0, pending('refused', 'cluster.network')),
      machine('cp', 0, pending('os', 'talos.version', 'machine.env')),
      machine('cp', 1),
    ),
  ).toEqual([
    'restarts | cp-0 | talos.version unknown to 1.13.9, machine.env | drained, upgraded and restarted',
    'blocked | work-0 | cluster.network | cannot be made',
    'changes | work-1 | machine.nodeLabels | no restart',
  ]);
});

it('says what is not known, and nothing about machines of others', () => {
  const fresh = machine('cp', 0);
  const { compared: _, ...status } = fresh.status!;
  expect(plan({ ...fresh, status })).toEqual([expect.stringMatching(/^unknown \| cp-0 \| {2}\| .* was not compared/)]);
  const foreign = machine('cp', 1, { revision: 'r', class: 'live', fields: [] });
  expect(plan({ ...foreign, spec: { ...foreign.spec, clusterRef: { ...foreign.spec.clusterRef, uid: 'x' } } })).toEqual(
    [],
  );
});
