import { expect, it } from 'vitest';
import { aMachine, aSpec } from '../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../api/machine.ts';
import type { HostAssignment } from './assign-hosts.ts';
import { planAddresses } from './plan-addresses.ts';

const spec = aSpec((raw) => {
  Object.assign(raw['network'] as object, { addressPool: ['192.168.10.20-192.168.10.24'] });
});
const assignment = (name: string, machine?: Machine): HostAssignment => ({
  slot: { name, role: 'controlplane', pool: 'cp', slot: 0, size: 'small' },
  ...{ machine, host: undefined, isHeld: false, rejected: new Map() },
});
const claimed = new Map([['192.168.10.21', 'machine/other']]);
const given = (change: object = {}) => ({
  spec,
  section: { sizes: [], hosts: [], addressing: { pool: 'main', endpoint: 'virtual-address' } as const },
  fixedEndpoint: undefined,
  reserved: new Set(['192.168.10.22']),
  holderOf: async (address: string) => claimed.get(address),
  ...change,
});

it('each gets the lowest address that is neither claimed nor reserved, the endpoint first', async () => {
  expect(await planAddresses(given(), [assignment('a'), assignment('b'), assignment('c')])).toEqual({
    ...{ endpoint: 'https://192.168.10.20:6443', virtualAddress: '192.168.10.20' },
    machines: new Map([
      ['a', '192.168.10.23'],
      ['b', '192.168.10.24'],
    ]),
  });
});

it('a claimed address stays, and so does the endpoint in the spec of the machines', async () => {
  const machine = aMachine();
  machine.spec = { ...machine.spec, endpoint: 'https://192.168.10.99:6443', virtualAddress: '192.168.10.99' };
  machine.status = { progress: { facts: { address: '192.168.10.50' } } } as unknown as NonNullable<Machine['status']>;
  const { endpoint, machines } = await planAddresses(given(), [
    assignment(machine.metadata.name, machine),
    assignment('new'),
  ]);
  expect(endpoint).toBe('https://192.168.10.99:6443');
  expect([...machines.values()]).toEqual(['192.168.10.50', '192.168.10.20']);
});

it('a configured endpoint takes no address, and nodes with addresses of their own get none', async () => {
  const fixedEndpoint = { at: 'api.example.org:6443', field: 'controlPlane.endpoint' };
  const named = { ...spec, controlPlane: { ...spec.controlPlane, endpoint: 'api.example.org' } };
  expect(await planAddresses(given({ fixedEndpoint, spec: named }), [assignment('a')])).toMatchObject({
    endpoint: 'https://api.example.org:6443',
    machines: new Map([['a', '192.168.10.20']]),
  });
  const own = { sizes: [], hosts: [], addressing: { pool: 'none', endpoint: 'first-node' } as const };
  expect(await planAddresses(given({ section: own }), [assignment('a')])).toEqual({
    ...{ endpoint: undefined, virtualAddress: undefined, machines: new Map() },
  });
});
