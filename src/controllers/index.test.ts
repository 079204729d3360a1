import { expect, it } from 'vitest';
import { aMachine } from '../../test/support/fixtures/builders.ts';
import type { Host, HostStatus } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import { group, version } from '../api/names.ts';
import { type ObjectChange, ObjectStore } from '../kube/reflector/object-store.ts';
import { machinesToWakeForHost } from './index.ts';
import { hostIndexes } from './shared/stores.ts';

const aHost = (status: Partial<HostStatus>, generation = 1, name = 'a'): Host => ({
  ...{ apiVersion: `${group}/${version}`, kind: 'Host', metadata: { name, uid: name, generation } },
  spec: { serverID: '1', hetznerRobot: {}, expect: { product: 'AX42' } } as unknown as Host['spec'],
  status: { observedGeneration: 1, state: 'Available', conditions: [], ...status },
});
const bare = (slot: number): Machine => ({ ...aMachine(slot), spec: { ...aMachine(slot).spec, platform: 'bare' } });
const [waits, holds, virtual] = [bare(0), bare(1), aMachine(2)];
const held: Partial<HostStatus> = {
  state: 'Provisioned',
  machineRef: { name: holds.metadata.name, uid: holds.metadata.uid ?? '', since: '2026-11-21T09:00:00Z' },
};

const hosts = new ObjectStore<Host>(hostIndexes);
hosts.put(aHost(held, 1, 'b'));
const machines = new ObjectStore<Machine>();
for (const machine of [waits, holds, virtual]) machines.put(machine);
const platforms = [{ name: 'bare', hosts: {} }, { name: 'truenas' }] as never;
const awoken = (kind: ObjectChange<Host>['kind'], object: Host, before?: Host) =>
  machinesToWakeForHost({ stores: { hosts, machines }, platforms }, { kind, object, ...(before && { before }) }).map(
    ({ name }) => name,
  );

const free = aHost({});
it.each<[string, string[], string[]]>([
  [
    'one that becomes available wakes the Machines without one',
    awoken('updated', free, aHost({ state: 'Pending' })),
    ['waits'],
  ],
  [
    'one that changes while it is available does, too: it may fit now',
    awoken('updated', aHost({}, 2), free),
    ['waits'],
  ],
  ['a change of its message wakes no Machine', awoken('updated', aHost({ message: 'x' }), free), []],
  ['one that is not available wakes no Machine', awoken('updated', aHost({ state: 'Failed' }, 2), free), []],
  ['a change by a user wakes the Machine that holds it', awoken('updated', aHost(held, 2), aHost(held)), ['holds']],
  [
    'a write of a Machine to its own Host wakes no Machine',
    awoken('updated', aHost(held), aHost({ ...held, state: 'Claimed' })),
    [],
  ],
  ['a resync wakes no Machine', awoken('resync', free, free), []],
  ['a new one wakes no Machine before it is identified', awoken('added', free), []],
])('changes of Hosts: %s', (_, found, wanted) => {
  const names = { waits: waits.metadata.name, holds: holds.metadata.name };
  expect(found).toEqual(wanted.map((name) => names[name as 'waits']));
});
