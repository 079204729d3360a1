import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { machineName } from '../../src/api/names.ts';
import { type AddressHolder, AddressLeases, addressHolder } from '../../src/controllers/address-leases.ts';
import { refOf } from '../../src/controllers/cluster/identity.ts';
import { letGoAddress } from '../../src/controllers/cluster/let-go-address.ts';
import type { Services } from '../../src/controllers/services.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { aCluster } from '../support/builders.ts';
import { type KubeWithKinds, kubeWithKinds } from '../support/kube-with-kinds.ts';

const namespace = 'openmcp-system';
const pool = ['192.168.10.20-192.168.10.40'];
const { signal } = new AbortController();
const cluster = aCluster();
const ref = refOf(cluster);
const other = { ...ref, uid: 'another' };
const shared = addressHolder.cluster(ref);

let server: KubeWithKinds;
let addresses: AddressLeases;
let events: string[];
beforeAll(async () => {
  server = await kubeWithKinds();
  const type: ResourceType = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
  await server.kube.create(type, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } as KubeObject);
  addresses = new AddressLeases(server.kube, namespace, 'talos');
});
beforeEach(async () => {
  events = [];
  for (const owner of [ref, other])
    for (const name of await addresses.machinesOf(owner, signal)) await addresses.release(held(name, owner), signal);
  await addresses.release(shared, signal);
  await addresses.claim(shared, pool, new Set(), signal);
});
afterAll(async () => await server.close());

const held = (name: string, owner = ref) => addressHolder.machine(name, owner);

async function letGo(...machines: readonly AddressHolder[]): Promise<string | undefined> {
  for (const machine of machines) await addresses.claim(machine, pool, new Set(), signal);
  const record = (_: unknown, __: unknown, reason: string, message: string) => events.push(`${reason}: ${message}`);
  await letGoAddress({ addresses, namespace, events: { record } } as unknown as Services, cluster, signal);
  return await addresses.find(shared, signal);
}

it('the shared address of a Cluster is let go when no control plane has kept its own', async () => {
  // A Cluster that had the same name before has Machines of the same names.
  const others = held(machineName(ref, 'cp', 0), other);
  expect(await letGo(others, held(machineName(ref, 'work', 0)))).toBeUndefined();
  expect(events).toEqual([]);
});

it('it stays claimed while a control plane may still hold it, which an Event tells', async () => {
  const lost = machineName(ref, 'cp', 1);
  expect(await letGo(held(lost))).toBe('192.168.10.20');
  expect(events).toEqual([expect.stringMatching(new RegExp(`^AddressKept: .*192\\.168\\.10\\.20.*${lost}`))]);
  await addresses.release(held(lost), signal);
  expect(await letGo()).toBeUndefined();
});

it('a Cluster without a shared address has nothing to let go', async () => {
  await addresses.release(shared, signal);
  expect(await letGo(held(machineName(ref, 'cp', 0)))).toBeUndefined();
  expect(events).toEqual([]);
});
