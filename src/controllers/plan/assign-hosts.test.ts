import { expect, it } from 'vitest';
import type { Host } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import type { HostView } from '../../engine/host.ts';
import type { MachineSlot } from '../cluster/scaling/machine-slots.ts';
import { assignHosts, unassignedHosts } from './assign-hosts.ts';

const slots: readonly MachineSlot[] = [0, 1].map((slot) => ({
  ...{ name: `shop-cp-${slot}`, role: 'controlplane', pool: 'cp', slot, size: 'any' },
}));

const host = (name: string, number: number, more: { spec?: object; status?: object } = {}): Host =>
  ({
    metadata: { name, labels: {}, creationTimestamp: name },
    spec: { serverID: `${number}`, hetznerRobot: {}, expect: { product: 'AX42' }, rootDisk: {}, ...more.spec },
    status: { observedGeneration: 1, state: 'Available', conditions: [], ...more.status },
  }) as unknown as Host;

const machine = (slot: number): Machine =>
  ({ metadata: { name: `other-cp-${slot}`, uid: `uid-${slot}` }, spec: { pool: 'cp', slot } }) as unknown as Machine;
const heldBy = (slot: number) => ({
  status: { state: 'Claimed', machineRef: { name: '', uid: `uid-${slot}`, since: '' } },
});

const anyone = () => undefined;
const assigned = (
  hosts: readonly Host[],
  machines: readonly Machine[] = [],
  refuses: (view: HostView) => string | undefined = anyone,
) => assignHosts({ slots, machines, hosts, whyUnsuitable: refuses });

it('assigns a Host to each machine, by name', () => {
  const assignments = assigned([host('c', 3), host('b', 2), host('a', 1)]);
  expect(assignments.map((assignment) => [assignment.host?.name, assignment.isHeld])).toEqual([
    ['a', false],
    ['b', false],
  ]);
});

it('keeps the Host and the name of an existing machine', () => {
  const [first, second] = assigned([host('a', 1), host('b', 2, heldBy(0))], [machine(0)]);
  expect(first).toMatchObject({ host: { name: 'b' }, isHeld: true, slot: { name: 'other-cp-0' } });
  expect(second).toMatchObject({ host: { name: 'a' }, isHeld: false, machine: undefined });
});

it('counts the rejection reasons if there is no Host', () => {
  const hosts = [host('a', 1), host('b', 2, { spec: { maintenance: true } }), host('c', 3), host('d', 3)];
  const refuses = ({ name }: HostView) => (name === 'c' ? 'without the label disk=nvme' : undefined);
  const [, second] = assigned(hosts, [], refuses);
  expect(second?.host).toBeUndefined();
  expect(Object.fromEntries(second?.rejected ?? [])).toEqual({
    'in maintenance': 1,
    'are for a server that has another Host': 1,
    'without the label disk=nvme': 1,
    'needed by machines before it': 1,
  });
});

it('gives the reason for each unassigned Host, without claimed ones', () => {
  const hosts = [host('a', 1), host('b', 2), host('c', 3), host('d', 4), host('e', 5, heldBy(7))];
  const refuses = ({ name }: HostView) => (name === 'd' ? 'not for the role controlplane' : undefined);
  const unassigned = unassignedHosts(assigned(hosts, [], refuses), { hosts, whyUnsuitable: refuses });
  expect(unassigned.map((unassigned) => [unassigned.host.metadata.name, unassigned.reason])).toEqual([
    ['c', 'free and not needed'],
    ['d', 'not for the role controlplane'],
  ]);
});
