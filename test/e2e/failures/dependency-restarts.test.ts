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

const open = startReplicaTestbed({ subnet: '127.42.126', speed }, async (stage) => [
  await InProcessReplica.open(stage, { name: 'talos-0', address: '127.42.127.1', watchClock: acceleratedClock(speed) }),
]);

prepareTestbed(
  () => open().stage,
  async ({ things }) => {
    await things.credentials();
    await things.config('home', { controlPlanes: 1 });
  },
);

const platform = (): Promise<void> => open().stage.restartPlatform();
const nas = async (): Promise<void> => await open().stage.world.truenas.restart();
/** The virtual machine of the first control plane of a Cluster. */
const nodeOf = (cluster: string): string =>
  open()
    .stage.world.machines.nodes()
    .find(({ hostname }) => hostname.startsWith(`${cluster}-`))?.name ?? '';
const reboot = (cluster: string) => async (): Promise<void> => open().stage.world.machines.reboot(nodeOf(cluster));
const apiServer = async (): Promise<void> => await open().stage.world.machines.crashApiServer(nodeOf('main'));

it('restarts of all dependencies in the middle of a creation do not change its result', async () => {
  const mishaps = new MidCallActions(open().stage, [
    { room: 'kube', name: /^POST \/api\/v1\/namespaces\/openmcp-system\/secrets$/, happens: platform },
    { room: 'kube', name: /^POST .*\/machines$/, happens: platform },
    { room: 'truenas', name: /^POST \/_upload$/, happens: nas },
    // The first upload failed with the first restart.
    { room: 'truenas', name: /^POST \/_upload$/, nth: 2, happens: nas },
    { room: 'kube', name: /^PATCH .*\/machines\/main-.*\/status$/, nth: 5, happens: platform },
    { room: 'truenas', name: /^vm\.create$/, happens: nas },
    // Asked before the Bootstrap call; etcd members are asked for only after it, when the service runs.
    { room: 'talos', node: 'before', name: /\/ServiceList$/, happens: reboot('before') },
    { room: 'talos', node: 'during', name: /\/Bootstrap$/, happens: reboot('during') },
    { room: 'talos', node: 'after', name: /\/EtcdMemberList$/, happens: reboot('after') },
  ]);
  for (const name of names) await open().stage.things.cluster(inShop(name));
  for (const name of names) await eventually(`${name} is ready`, () => open().isReady(inShop(name)), 90);
  await mishaps.end();
  expect(mishaps.missed()).toEqual([]);
  const ofVms = listNasLeftovers(open().stage).filter((fingerprint) => fingerprint.startsWith('VM '));
  expect(ofVms).toHaveLength(names.length);
  // A folder and a disk for each Machine; an address for each Machine, and one for the endpoint.
  expect(listNasLeftovers(open().stage).filter((fingerprint) => fingerprint.startsWith('dataset '))).toHaveLength(
    2 * names.length,
  );
  expect((await addressHolders(open().stage)).size).toBe(2 * names.length);
});

it.each(rebooted)('a node that is rebooted %s the bootstrap becomes the one member of its etcd', async (name) => {
  const [machine] = await open().stage.things.machines(inShop(name));
  const address = machine?.status?.address ?? '';
  const members = await withTalosAdminClient(open().stage, inShop(name), address, (talos) => talos.etcdMembers());
  expect(members.map((member) => member.name)).toEqual([machine?.metadata.name]);
  const node = open()
    .stage.world.machines.nodes()
    .find((one) => one.name === nodeOf(name));
  const console = await readFile(node?.description.serialLog ?? '', 'utf8');
  // From the installation disc, from the disk, and once more.
  expect(console.match(/booting Talos/g)).toHaveLength(3);
  const told = new Set(bootstrappedNodes(open().stage.calls).filter((node) => node.includes(`${name}_`)));
  expect([...told]).toEqual([nodeOf(name)]);
});

it('restarts in the middle of a grant do not change it', async () => {
  const mishaps = new MidCallActions(open().stage, [
    { room: 'workload', name: /^POST .*\/clusterroles$/, happens: apiServer },
    { room: 'workload', name: /\/token$/, happens: apiServer },
    { room: 'kube', name: /^POST \/api\/v1\/namespaces\/shop\/secrets$/, happens: platform },
  ]);
  await open().stage.things.request(main, { clusterRef: main, token: { permissions: [{ rules }] } });
  await eventually('it is granted', () => open().isGranted(main));
  await mishaps.end();
  expect(mishaps.missed()).toEqual([]);
  expect(await listAccessObjects(open().stage, main, main)).toHaveLength(3);
  await withGrantedClient(open().stage, main, async (holder) => await holder.list(ConfigMap));
});

it('restarts during a deletion leave nothing behind', async () => {
  const mishaps = new MidCallActions(open().stage, [
    { room: 'workload', name: /^DELETE /, happens: apiServer },
    { room: 'kube', name: /^DELETE .*\/machines\//, happens: platform },
    { room: 'truenas', name: /^vm\.(stop|poweroff)$/, happens: nas },
    { room: 'truenas', name: /^vm\.delete$/, happens: nas },
    { room: 'truenas', name: /^pool\.dataset\.delete$/, happens: nas },
    { room: 'kube', name: /^DELETE .*\/leases\//, happens: platform },
  ]);
  const { things } = open().stage;
  await things.remove(AccessRequest, main);
  await eventually('the request is gone', async () => !(await things.exists(AccessRequest, main)));
  for (const name of names) await things.remove(Cluster, inShop(name));
  for (const name of names)
    await eventually(`${name} is gone`, async () => !(await things.exists(Cluster, inShop(name))));
  await things.remove(ProviderConfig, { name: 'home' });
  await eventually('nothing is left', async () => {
    expect(await listLeftovers(open().stage)).toEqual([]);
    return true;
  });
  await mishaps.end();
  expect(mishaps.missed()).toEqual([]);
});

it('the provider logs no fault of its own, and keeps running', () => {
  expect(open().pod.deaths).toEqual([]);
  expect(open().pod.faults()).toEqual([]);
});
