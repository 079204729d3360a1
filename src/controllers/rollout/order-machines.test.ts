import { expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../api/machine.ts';
import { orderMachines } from './order-machines.ts';

const one = (pool: string, slot: number, status: 'True' | 'False' = 'True'): Machine =>
  aMachine(slot, [aCondition('Ready', status)], pool);
const namesOf = (machines: readonly Machine[]) => machines.map(({ spec }) => `${spec.pool}${spec.slot}`).join(' ');

it.each<[string, Machine[], Parameters<typeof orderMachines>[1], string]>([
  ['control planes first', [one('a', 0), one('cp', 1), one('cp', 0)], { pools: ['a'] }, 'cp0 cp1 a0'],
  ['pools in the order of the spec', [one('a', 0), one('b', 0)], { pools: ['b', 'a'] }, 'b0 a0'],
  ['a pool that is no longer in the spec last', [one('a', 0), one('b', 0)], { pools: ['b'] }, 'b0 a0'],
  ['slots as numbers', [one('a', 10), one('a', 9)], { pools: ['a'] }, 'a9 a10'],
  ['what is not ready first', [one('a', 0), one('a', 1, 'False')], { pools: ['a'] }, 'a1 a0'],
  ['but not before control planes', [one('a', 0, 'False'), one('cp', 0)], { pools: ['a'] }, 'cp0 a0'],
])('orders %s', (_, machines, rules, expected) => {
  expect(namesOf(orderMachines(machines, rules))).toBe(expected);
});

it("D22: etcd's leader is the last control plane, ready or not", () => {
  const machines = [one('cp', 0, 'False'), one('cp', 1), one('cp', 2), one('a', 0)];
  const leader = machines[0]!.metadata.name;
  expect(namesOf(orderMachines(machines, { pools: ['a'], leader }))).toBe('cp1 cp2 cp0 a0');
});
