import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { machineName } from '../../src/api/names.ts';
import { clusterIdentityOf } from '../../src/controllers/cluster/identity.ts';
import { releaseEndpointAddress } from '../../src/controllers/cluster/release-endpoint-address.ts';
import {
  type AddressHolder,
  AddressLeases,
  addressHolder,
} from '../../src/controllers/shared/addresses/address-leases.ts';
import type { Services } from '../../src/controllers/shared/services.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { aCluster } from '../support/fixtures/builders.ts';
import { type KubeWithCrds, startKubeWithCrds } from '../support/harness/kube-with-crds.ts';

const namespace = 'openmcp-system';
const pool = ['192.168.10.20-192.168.10.40'];
const { signal } = new AbortController();
const cluster = aCluster();
const ref = clusterIdentityOf(cluster);
const otherCluster = { ...ref, uid: 'another' };
const shared = addressHolder.cluster(ref);

let server: KubeWithCrds;
let addresses: AddressLeases;
let events: string[];
beforeAll(async () => {
  server = await startKubeWithCrds();
  const type: ResourceType = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
  await server.kube.create(type, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } as KubeObject);
  addresses = new AddressLeases(server.kube, namespace, 'talos');
});
beforeEach(async () => {
  events = [];
  for (const owner of [ref, otherCluster])
    for (const name of await addresses.machinesOf(owner, signal))
      await addresses.release(machineHolder(name, owner), signal);
  await addresses.release(shared, signal);
  await addresses.claim(shared, pool, new Set(), signal);
});
afterAll(async () => await server.close());

const machineHolder = (name: string, owner = ref) => addressHolder.machine(name, owner);

async function releaseAfterClaims(...machines: readonly AddressHolder[]): Promise<string | undefined> {
  for (const machine of machines) await addresses.claim(machine, pool, new Set(), signal);
  const record = (_: unknown, __: unknown, reason: string, message: string) => events.push(`${reason}: ${message}`);
  await releaseEndpointAddress({ addresses, namespace, events: { record } } as unknown as Services, cluster, signal);
  return await addresses.find(shared, signal);
}

it('the shared address of a Cluster is released when no control plane has retained its own', async () => {
  // An earlier Cluster of the same name has Machines of the same names.
  const others = machineHolder(machineName(ref, 'cp', 0), otherCluster);
  expect(await releaseAfterClaims(others, machineHolder(machineName(ref, 'work', 0)))).toBeUndefined();
  expect(events).toEqual([]);
});

it('the shared address stays claimed while a control plane may still hold it, and an Event reports that', async () => {
  const lost = machineName(ref, 'cp', 1);
  expect(await releaseAfterClaims(machineHolder(lost))).toBe('192.168.10.20');
  expect(events).toEqual([expect.stringMatching(new RegExp(`^AddressKept: .*192\\.168\\.10\\.20.*${lost}`))]);
  await addresses.release(machineHolder(lost), signal);
  expect(await releaseAfterClaims()).toBeUndefined();
});

it('a Cluster without a shared address has nothing to release', async () => {
  await addresses.release(shared, signal);
  expect(await releaseAfterClaims(machineHolder(machineName(ref, 'cp', 0)))).toBeUndefined();
  expect(events).toEqual([]);
});
