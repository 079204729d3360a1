import { expect, it } from 'vitest';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Lease } from '../../../kube/core-types.ts';
import { KubeError } from '../../../kube/errors.ts';
import { AddressLeases, addressHolder } from './address-leases.ts';

const { signal } = new AbortController();
const pool = ['192.168.10.20-192.168.10.29'];
const old = { namespace: 'team', name: 'shop', uid: 'old' };
const again = { ...old, uid: 'new' };

/** Leases of a platform cluster. */
function leasesOf(present = new Map<string, Lease>()) {
  const kube = {
    list: async () => ({ items: [...present.values()] }),
    create: async (_: unknown, lease: Lease) => {
      if (present.has(lease.metadata.name))
        throw new KubeError({ status: 409, reason: 'AlreadyExists', message: 'it is there' });
      present.set(lease.metadata.name, structuredClone(lease));
    },
    remove: async (_: unknown, { name }: { name: string }) => present.delete(name),
  };
  return { present, leases: new AddressLeases(kube as unknown as KubeClient, 'openmcp-system', 'talos') };
}

const claim = (leases: AddressLeases, holder: Parameters<AddressLeases['claim']>[0]) =>
  leases.claim(holder, pool, new Set(), signal);

it.each([
  ['a Cluster', addressHolder.cluster(old), addressHolder.cluster(again)],
  ['a Machine', addressHolder.machine('shop-cp-0', old), addressHolder.machine('shop-cp-0', again)],
])(
  'the address of %s does not belong to its namesake in a Cluster that was created again',
  async (_, before, after) => {
    const { leases, present } = leasesOf();
    expect(await claim(leases, before)).toBe('192.168.10.20');
    expect(await claim(leases, after)).toBe('192.168.10.21');
    expect(await claim(leases, before)).toBe('192.168.10.20');
    expect(await leases.find(after, signal)).toBe('192.168.10.21');
    await leases.release(after, signal);
    expect([...present.keys()]).toEqual(['talos-address-192.168.10.20']);
  },
);

it('the address of an orphan is released whatever its Cluster was', async () => {
  const { leases, present } = leasesOf();
  await claim(leases, addressHolder.machine('shop-cp-0', old));
  await claim(leases, addressHolder.machine('shop-cp-1', old));
  await leases.release(addressHolder.machine('shop-cp-0'), signal);
  expect([...present.keys()]).toEqual(['talos-address-192.168.10.21']);
});

it('an address of IPv6 has a Lease with a name that the API server accepts', async () => {
  const { leases, present } = leasesOf();
  const pool = ['FD00:10::-FD00:10::f'];
  const holders = ['shop-cp-0', 'shop-cp-1'].map((name) => addressHolder.machine(name, old));
  for (const holder of holders) await leases.claim(holder, pool, new Set(['fd00:10::1']), signal);
  expect([...present.keys()]).toEqual(['talos-address-fd00-10-0-0-0-0-0-0', 'talos-address-fd00-10-0-0-0-0-0-2']);
  expect([...(await leases.list(signal)).keys()]).toEqual(['fd00:10::', 'fd00:10::2']);
  expect(await leases.find(holders[1]!, signal)).toBe('fd00:10::2');
});
