import { describe, expect, it } from 'vitest';
import { aMachine, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { provisioned, ready } from '../../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../../api/machine.ts';
import type { NodePool } from '../../../api/node-pool.ts';
import type { WorkerPool } from '../../../api/provider-config-spec.ts';
import { comparePools, listDesiredSlots, type SlotInput } from './machine-slots.ts';

const withWorkers = (replicas: number, more: Partial<WorkerPool> = {}) => ({
  ...aSpec(),
  controlPlane: { ...aSpec().controlPlane, replicas: 1 },
  workerPools: [{ name: 'work', replicas, size: 'small', labels: {}, taints: [], patches: [], ...more }],
});
const worker = (slot: number, conditions = ready) => aMachine(slot, conditions, 'work');
const going = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: '2026-11-21T10:00:00Z' },
});
const replaced = (machine: Machine): Machine => ({
  ...machine,
  spec: { ...machine.spec, revision: 'new' },
  status: { ...machine.status!, pending: { revision: 'new', class: 'replace', fields: ['size.disks'] } },
});
const identified = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, uid: `uid of ${machine.metadata.name}` },
});
const input = (replicas: number, machines: readonly Machine[], more: Partial<SlotInput> = {}): SlotInput => ({
  ref: { namespace: 'team', name: 'prod' },
  spec: withWorkers(replicas),
  secrets: undefined,
  machines,
  nodePools: [],
  ...more,
});
const slotsOf = (machines: readonly { readonly spec: Machine['spec'] }[]) => machines.map(({ spec }) => spec.slot);
const work = (given: SlotInput) => comparePools(given).find(({ pool }) => pool === 'work');
const nodePool = (replicas: number) => ({ spec: { pool: 'work', replicas } }) as NodePool;

describe('the slots of a pool', () => {
  it.each<[string, number, Machine[], readonly number[], readonly number[]]>([
    ['a new pool begins with 0', 3, [], [0, 1, 2], []],
    ['a pool that grows', 3, [worker(0)], [1, 2], []],
    ['a pool that shrinks', 1, [worker(0), worker(1), worker(2)], [], [2, 1]],
    ['slots that a pool has stay', 2, [worker(0), worker(2)], [], []],
    ['a new Machine gets the lowest free slot', 3, [worker(0), worker(2)], [1], []],
    ['a broken one goes, not the highest', 2, [worker(0), worker(1, provisioned), worker(2)], [], [1]],
    ['a Machine in deletion keeps its slot', 2, [worker(0), going(worker(1))], [], []],
    ['and its successor gets it', 2, [worker(0)], [1], []],
    ['a Machine in deletion counts for the wish to have less', 1, [worker(0), going(worker(1))], [], []],
    ['one deleted by a user is the one too many', 2, [worker(0), going(worker(1)), worker(2)], [], []],
    ['D39: a worker that is replaced has its successor first', 2, [replaced(worker(0)), worker(1)], [2], [0]],
    ['D39: and goes after it', 2, [replaced(worker(0)), worker(1), worker(2)], [], [0]],
    ['D39: the successor stays without that', 2, [going(replaced(worker(0))), worker(1), worker(2)], [], []],
    ['D39: one that is replaced goes first of a pool that shrinks', 1, [replaced(worker(0)), worker(1)], [], [0]],
    ['the others go after it', 1, [worker(0), going(worker(1)), worker(2)], [], [2]],
  ])('%s', (_, replicas, machines, missing, surplus) => {
    const found = work(input(replicas, machines));
    expect(found?.missing.map(({ slot }) => slot)).toEqual(missing);
    expect(slotsOf(found?.surplus ?? [])).toEqual(surplus);
  });

  it.each<[string, number, Machine[], readonly number[], readonly number[]]>([
    ['goes, not the highest slot', 2, [worker(0), worker(1), worker(2)], [], [0]],
    [
      'goes if the number was not lowered, too, and is made again after it',
      3,
      [worker(0), worker(1), worker(2)],
      [],
      [0],
    ],
    ['goes before a broken one', 1, [worker(0), worker(1, provisioned), worker(2)], [], [0, 1]],
    ['goes before one that is replaced', 2, [worker(0), replaced(worker(1)), worker(2)], [], [0, 1]],
    ['gets no successor if it is replaced, too', 1, [replaced(worker(0)), worker(1)], [], [0]],
    ['that is in deletion holds its slot', 2, [going(worker(0)), worker(1), worker(2)], [], []],
    ['that is gone has its slot taken by another one', 3, [worker(1), worker(2)], [0], []],
  ])('D58: a Machine that the NodePool names %s', (_, replicas, machines, missing, surplus) => {
    const named = identified(worker(0)).metadata;
    const pools = [{ spec: { pool: 'work', replicas, machinesToDelete: [{ uid: named.uid, name: named.name }] } }];
    const limits = { minReplicas: 0, maxReplicas: 9 };
    const given = input(0, machines.map(identified), { spec: withWorkers(1, limits), nodePools: pools as NodePool[] });
    const found = work(given);
    expect(found?.missing.map(({ slot }) => slot)).toEqual(missing);
    expect(slotsOf(found?.surplus ?? [])).toEqual(surplus);
  });

  it('a pool that was removed has only Machines to delete', () => {
    const spec = { ...withWorkers(0), workerPools: [] };
    expect(work(input(0, [worker(0), worker(1)], { spec }))).toMatchObject({ replicas: 0, missing: [] });
    expect(slotsOf(work(input(0, [worker(0), worker(1)], { spec }))?.surplus ?? [])).toEqual([1, 0]);
  });

  it('without a spec nothing is missing and nothing is too much', () => {
    expect(comparePools(input(1, [worker(0)], { spec: undefined }))).toEqual([]);
    expect(listDesiredSlots(input(1, [worker(0)], { spec: undefined }))).toEqual([]);
  });

  it('keeps the remaining slots and adds the lowest free ones', () => {
    const wanted = (replicas: number, machines: readonly Machine[]) =>
      listDesiredSlots(input(replicas, machines)).flatMap(({ pool, slot }) => (pool === 'work' ? [slot] : []));
    expect(wanted(3, [worker(0), worker(4)])).toEqual([0, 1, 4]);
    expect(wanted(1, [worker(0, provisioned), worker(4)])).toEqual([4]);
    expect(wanted(2, [worker(0), going(worker(1))])).toEqual([0, 1]);
  });
});

describe('the number of nodes of a pool', () => {
  const count = (
    spec: ReturnType<typeof withWorkers>,
    nodePools: readonly NodePool[],
    machines: readonly Machine[] = [],
  ) => work(input(0, machines, { spec, nodePools }))?.replicas;

  it.each<[string, Partial<WorkerPool>, number, number]>([
    ['without limits that of the worker pool', {}, 7, 3],
    ['with limits that of the NodePool', { minReplicas: 1, maxReplicas: 9 }, 7, 7],
    ['not more than the largest', { minReplicas: 1, maxReplicas: 5 }, 7, 5],
    ['not less than the smallest', { minReplicas: 2, maxReplicas: 5 }, 0, 2],
    ['without a smallest not less than replicas', { maxReplicas: 5 }, 1, 3],
    ['without a largest not more than replicas', { minReplicas: 1 }, 7, 3],
  ])('is %s', (_, limits, scaled, expected) => {
    expect(count(withWorkers(3, limits), [nodePool(scaled)])).toBe(expected);
  });

  it('begins with that of the worker pool, and a NodePool that was deleted changes nothing', () => {
    const spec = withWorkers(3, { minReplicas: 1, maxReplicas: 9 });
    expect(count(spec, [])).toBe(3);
    expect(count(spec, [], [worker(0), worker(1), worker(2), worker(3)])).toBe(4);
  });
});
