import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import {
  ConfigMap,
  listAccessObjects,
  withGrantedClient,
  withTalosAdminClient,
} from '../support/access/workload-cluster.ts';
import { MidCallActions } from '../support/observation/mid-call-actions.ts';
import {
  addressHolders,
  bootstrappedNodes,
  listLeftovers,
  listNasLeftovers,
} from '../support/observation/provider-calls.ts';
import { acceleratedClock } from '../support/provider-process/accelerated-clock.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

const speed = 30;
const inShop = (name: string) => ({ namespace: 'shop', name });
const main = inShop('main');
const rebooted = ['before', 'during', 'after'] as const;
const names = ['main', ...rebooted];
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

const open = startReplicaTestbed({ subnet: '127.42.126', speed }, async (testbed) => [
  await InProcessReplica.open(testbed, {
    name: 'talos-0',
    address: '127.42.127.1',
    watchClock: acceleratedClock(speed),
  }),
]);

prepareTestbed(
  () => open().testbed,
  async ({ objects }) => {
    await objects.credentials();
    await objects.config('home', { controlPlanes: 1 });
  },
);

const platform = (): Promise<void> => open().testbed.restartPlatform();
const nas = async (): Promise<void> => await open().testbed.world.truenas.restart();
/** The virtual machine of the first control plane of a Cluster. */
const nodeOf = (cluster: string): string =>
  open()
    .testbed.world.machines.nodes()
    .find(({ hostname }) => hostname.startsWith(`${cluster}-`))?.name ?? '';
const reboot = (cluster: string) => async (): Promise<void> => open().testbed.world.machines.reboot(nodeOf(cluster));
const apiServer = async (): Promise<void> => await open().testbed.world.machines.crashApiServer(nodeOf('main'));

it('restarts of all dependencies in the middle of a creation do not change its result', async () => {
  const mishaps = new MidCallActions(open().testbed, [
    { simulator: 'kube', name: /^POST \/api\/v1\/namespaces\/openmcp-system\/secrets$/, happens: platform },
    { simulator: 'kube', name: /^POST .*\/machines$/, happens: platform },
    { simulator: 'truenas', name: /^POST \/_upload$/, happens: nas },
    // The first upload failed with the first restart.
    { simulator: 'truenas', name: /^POST \/_upload$/, nth: 2, happens: nas },
    { simulator: 'kube', name: /^PATCH .*\/machines\/main-.*\/status$/, nth: 5, happens: platform },
    { simulator: 'truenas', name: /^vm\.create$/, happens: nas },
    // Asked before the Bootstrap call; etcd members are asked for only after it, when the service runs.
    { simulator: 'talos', node: 'before', name: /\/ServiceList$/, happens: reboot('before') },
    { simulator: 'talos', node: 'during', name: /\/Bootstrap$/, happens: reboot('during') },
    { simulator: 'talos', node: 'after', name: /\/EtcdMemberList$/, happens: reboot('after') },
  ]);
  for (const name of names) await open().testbed.objects.cluster(inShop(name));
  for (const name of names) await eventually(`${name} is ready`, () => open().isReady(inShop(name)), 90);
  await mishaps.end();
  expect(mishaps.missed()).toEqual([]);
  const ofVms = listNasLeftovers(open().testbed).filter((fingerprint) => fingerprint.startsWith('VM '));
  expect(ofVms).toHaveLength(names.length);
  // A folder and a disk for each Machine; an address for each Machine, and one for the endpoint.
  expect(listNasLeftovers(open().testbed).filter((fingerprint) => fingerprint.startsWith('dataset '))).toHaveLength(
    2 * names.length,
  );
  expect((await addressHolders(open().testbed)).size).toBe(2 * names.length);
});

it.each(rebooted)('a node that is rebooted %s the bootstrap becomes the one member of its etcd', async (name) => {
  const [machine] = await open().testbed.objects.machines(inShop(name));
  const address = machine?.status?.address ?? '';
  const members = await withTalosAdminClient(open().testbed, inShop(name), address, (talos) => talos.etcdMembers());
  expect(members.map((member) => member.name)).toEqual([machine?.metadata.name]);
  const node = open()
    .testbed.world.machines.nodes()
    .find((one) => one.name === nodeOf(name));
  const console = await readFile(node?.description.serialLog ?? '', 'utf8');
  // From the installation disc, from the disk, and once more.
  expect(console.match(/booting Talos/g)).toHaveLength(3);
  const told = new Set(bootstrappedNodes(open().testbed.calls).filter((node) => node.includes(`${name}_`)));
  expect([...told]).toEqual([nodeOf(name)]);
});

it('restarts in the middle of a grant do not change it', async () => {
  const mishaps = new MidCallActions(open().testbed, [
    { simulator: 'workload', name: /^POST .*\/clusterroles$/, happens: apiServer },
    { simulator: 'workload', name: /\/token$/, happens: apiServer },
    { simulator: 'kube', name: /^POST \/api\/v1\/namespaces\/shop\/secrets$/, happens: platform },
  ]);
  await open().testbed.objects.request(main, { clusterRef: main, token: { permissions: [{ rules }] } });
  await eventually('it is granted', () => open().isGranted(main));
  await mishaps.end();
  expect(mishaps.missed()).toEqual([]);
  expect(await listAccessObjects(open().testbed, main, main)).toHaveLength(3);
  await withGrantedClient(open().testbed, main, async (holder) => await holder.list(ConfigMap));
});

it('restarts during a deletion leave nothing behind', async () => {
  const mishaps = new MidCallActions(open().testbed, [
    { simulator: 'workload', name: /^DELETE /, happens: apiServer },
    { simulator: 'kube', name: /^DELETE .*\/machines\//, happens: platform },
    { simulator: 'truenas', name: /^vm\.(stop|poweroff)$/, happens: nas },
    { simulator: 'truenas', name: /^vm\.delete$/, happens: nas },
    { simulator: 'truenas', name: /^pool\.dataset\.delete$/, happens: nas },
    { simulator: 'kube', name: /^DELETE .*\/leases\//, happens: platform },
  ]);
  const { objects } = open().testbed;
  await objects.remove(AccessRequest, main);
  await eventually('the request is gone', async () => !(await objects.exists(AccessRequest, main)));
  for (const name of names) await objects.remove(Cluster, inShop(name));
  for (const name of names)
    await eventually(`${name} is gone`, async () => !(await objects.exists(Cluster, inShop(name))));
  await objects.remove(ProviderConfig, { name: 'home' });
  await eventually('nothing is left', async () => {
    expect(await listLeftovers(open().testbed)).toEqual([]);
    return true;
  });
  await mishaps.end();
  expect(mishaps.missed()).toEqual([]);
});

it('the provider logs no fault of its own, and keeps running', () => {
  expect(open().pod.deaths).toEqual([]);
  expect(open().pod.faults()).toEqual([]);
});
