import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import { provisioned, ready } from '../../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import { chooseSurplusMachine, listSurplusMachines } from './choose-surplus-machine.ts';

interface Sketch {
  readonly domain?: string;
  readonly isBroken?: boolean;
  readonly isMarked?: boolean | string;
}

/** Machines with the slots 0, 1, … */
const pool = (...sketches: readonly Sketch[]): Machine[] =>
  sketches.map(({ domain, isBroken, isMarked }, slot) => {
    const machine = aMachine(slot, isBroken ? provisioned : ready);
    if (isMarked) machine.metadata.annotations = { [annotations.deleteFirst]: String(isMarked) };
    return domain === undefined ? machine : { ...machine, spec: { ...machine.spec, failureDomain: domain } };
  });

const slotOf = (machine: Machine | undefined) => machine?.spec.slot;
const nameOf = (slot: number) => aMachine(slot).metadata.name;

describe('D40: the Machine that is deleted first', () => {
  it.each<[string, Machine[], number]>([
    ['has the highest slot', pool({}, {}, {}), 2],
    ['is in the failure domain with the most', pool({ domain: 'a' }, { domain: 'a' }, { domain: 'b' }), 1],
    ['is not ready', pool({ isBroken: true, domain: 'b' }, { domain: 'a' }, { domain: 'a' }), 0],
    ['is marked by a user, even if others are broken', pool({ isMarked: true }, { isBroken: true }, {}), 0],
    ['is a broken Machine among the marked ones', pool({ isMarked: true, isBroken: true }, { isMarked: true }), 0],
    ['is not one whose mark has another value', pool({ isMarked: 'false' }, {}), 1],
  ])('%s', (_, machines, slot) => {
    expect(slotOf(chooseSurplusMachine(machines))).toBe(slot);
  });

  it('D23: is not the leader of etcd, unless that one is marked or broken', () => {
    const leader = nameOf(2);
    expect(slotOf(chooseSurplusMachine(pool({}, {}, {}), { leader }))).toBe(1);
    expect(slotOf(chooseSurplusMachine(pool({}, {}, { isMarked: true }), { leader }))).toBe(2);
    expect(slotOf(chooseSurplusMachine(pool({}, {}, { isBroken: true }), { leader }))).toBe(2);
  });

  it('is never the one whose address is the endpoint', () => {
    const endpointMachine = nameOf(0);
    expect(slotOf(chooseSurplusMachine(pool({ isMarked: true, isBroken: true }, {}), { endpointMachine }))).toBe(1);
    expect(chooseSurplusMachine(pool({}), { endpointMachine })).toBeUndefined();
  });

  it('leaves the failure domains even', () => {
    const machines = pool({ domain: 'a' }, { domain: 'b' }, { domain: 'a' }, { domain: 'b' }, { domain: 'c' });
    expect(listSurplusMachines(machines, 2).map(slotOf)).toEqual([3, 2]);
    expect(listSurplusMachines(machines, 9).map(slotOf)).toHaveLength(5);
    expect(listSurplusMachines(machines, -1)).toEqual([]);
  });
});
