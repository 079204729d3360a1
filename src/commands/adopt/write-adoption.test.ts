import { expect, it } from 'vitest';
import { aCluster, aMachine, anInstance } from '../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../api/machine.ts';
import type { AdoptableNode } from './assess-adoption.ts';
import { findMachineConflicts } from './find-conflicts.ts';
import { planMachines } from './write-adoption.ts';

const endpoint = 'https://10.0.0.1:6443';
const nodeOf = (name: string, role: AdoptableNode['role'] = 'controlplane'): AdoptableNode => ({
  ...{ name, role, address: `10.0.0.${name.length}` },
  ...{ talosVersion: '1.13.9', kubernetesVersion: '1.35.4' },
});
const machineOf = (name: string, change: Partial<Machine['spec']> = {}): Machine => {
  const { metadata, spec, ...rest } = aMachine();
  return { ...rest, metadata: { ...metadata, name }, spec: { ...spec, ...change } };
};
const target = (machines: readonly Machine[]) => ({
  ...{ cluster: aCluster(), instance: anInstance, config: 'legacy', platform: 'external', size: 'external' },
  ...{ managedBy: 'others', machines, others: [] },
});
const foundWith = (...nodes: readonly AdoptableNode[]) => ({
  ...{ endpoint, kubernetesVersion: '1.35.4', nodes, unnamed: [] },
});

it('gives each node without a Machine the lowest free slot of its pool', () => {
  const existing = machineOf('b', { pool: 'cp', slot: 1 });
  const planned = planMachines(
    target([existing]),
    foundWith(nodeOf('a'), nodeOf('b'), nodeOf('c'), nodeOf('w', 'worker')),
  );
  expect(planned.map(({ metadata, spec }) => [metadata.name, spec.pool, spec.slot])).toEqual([
    ['a', 'cp', 0],
    ['c', 'cp', 2],
    ['w', 'workers', 0],
  ]);
  expect(planned[0]?.spec).toMatchObject({ address: '10.0.0.1', endpoint, platform: 'external' });
});

it('names the Machine that has the name or the address of a node', () => {
  const node = nodeOf('a');
  const ofOther = { ...machineOf('x'), status: { ...machineOf('x').status, address: '10.0.0.1' } } as Machine;
  expect(findMachineConflicts({ machines: [], others: [ofOther] }, [node])).toEqual([
    expect.stringMatching(/^10\.0\.0\.1: Machine x of Cluster /),
  ]);
  expect(findMachineConflicts({ machines: [], others: [machineOf('a')] }, [node])).toHaveLength(1);
  const moved = machineOf('a', { address: '10.0.0.9' });
  expect(findMachineConflicts({ machines: [moved], others: [] }, [node])).toEqual([
    '10.0.0.1: Machine a exists with the address 10.0.0.9. Delete it: its node stays.',
  ]);
  expect(findMachineConflicts({ machines: [machineOf('a', { address: '10.0.0.1' })], others: [] }, [node])).toEqual([]);
});
