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
  spec: { serverNumber: 1, expect: { product: 'AX42' } } as Host['spec'],
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
const platforms = [{ name: 'bare', inventory: {} }, { name: 'truenas' }] as never;
const woken = (kind: ObjectChange<Host>['kind'], object: Host, before?: Host) =>
  machinesToWakeForHost({ stores: { hosts, machines }, platforms }, { kind, object, ...(before && { before }) }).map(
    ({ name }) => name,
  );

const free = aHost({});
it.each<[string, string[], string[]]>([
  [
    'one that comes free wakes the Machines that hold none',
    woken('updated', free, aHost({ state: 'Pending' })),
    ['waits'],
  ],
  ['one that is changed while it is free does, too: it may fit now', woken('updated', aHost({}, 2), free), ['waits']],
  ['one of which only the words changed wakes nobody', woken('updated', aHost({ message: 'x' }), free), []],
  ['one that is not to be had wakes nobody', woken('updated', aHost({ state: 'Failed' }, 2), free), []],
  [
    'one that a person changes wakes the Machine that holds it',
    woken('updated', aHost(held, 2), aHost(held)),
    ['holds'],
  ],
  [
    'what a Machine writes to its own wakes nobody',
    woken('updated', aHost(held), aHost({ ...held, state: 'Claimed' })),
    [],
  ],
  ['a look at everything wakes nobody', woken('resync', free, free), []],
  ['one that is new is looked at first', woken('added', free), []],
])('of Hosts, %s', (_, found, wanted) => {
  const names = { waits: waits.metadata.name, holds: holds.metadata.name };
  expect(found).toEqual(wanted.map((name) => names[name as 'waits']));
});
