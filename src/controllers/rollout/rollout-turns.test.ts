import { expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import { RolloutTurns } from './rollout-turns.ts';

const pending: MachineStatus['pending'] = { revision: 'new', class: 'live', fields: [] };
const clusterRef = (name: string) => ({ namespace: 'shop', name, uid: `uid-of-${name}` });

const machine = (cluster: string, config: string, revision?: string): Machine => {
  const { spec, ...made } = aMachine();
  return {
    ...made,
    spec: {
      ...spec,
      clusterRef: clusterRef(cluster),
      providerConfigRef: { name: config },
      ...(revision && { revision }),
    },
    status: { observedGeneration: 1, phase: 'Ready', conditions: [], pending },
  };
};
const stores = (...machines: Machine[]) => ({ stores: { machines: { list: () => machines } } }) as never;

it('one cluster of a ProviderConfig changes until none of its Machines waits', () => {
  const turns = new RolloutTurns();
  const [a, b] = [machine('a', 'home'), machine('b', 'home')];
  expect(turns.take(stores(a, b), 'home', clusterRef('a'))).toBeUndefined();
  expect(turns.take(stores(a, b), 'home', clusterRef('b'))).toBe('shop/a');
  expect(turns.take(stores(a, b), 'home', clusterRef('a'))).toBeUndefined();
  const { pending: _, ...current } = a.status!;
  expect(turns.take(stores({ ...a, status: current }, b), 'home', clusterRef('b'))).toBeUndefined();
});

it('clusters of different ProviderConfigs do not wait for each other', () => {
  const turns = new RolloutTurns();
  const machines = stores(machine('a', 'home'), machine('b', 'lab'));
  expect(turns.take(machines, 'home', clusterRef('a'))).toBeUndefined();
  expect(turns.take(machines, 'lab', clusterRef('b'))).toBeUndefined();
});

it('after a restart, the Machine that is being updated shows whose turn it is', () => {
  const machines = stores(machine('a', 'home', 'new'), machine('b', 'home'));
  expect(new RolloutTurns().take(machines, 'home', clusterRef('b'))).toBe('shop/a');
  expect(new RolloutTurns().take(machines, 'home', clusterRef('a'))).toBeUndefined();
});
